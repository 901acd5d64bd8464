"""Margins of tensors, and steps of the torch optimizer against dense ones."""

import io
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from skfrontier.algos import softmax_margin


def test_margins_of_tensors_are_those_of_arrays(torch, device):
    rng = np.random.default_rng(0)
    Z, y = 5 * rng.standard_normal((40, 7)), rng.integers(0, 7, 40)
    m, V = softmax_margin(Z, y)
    for dtype, tol in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        labels = torch.tensor(y, device=device)
        m_t, V_t = softmax_margin(torch.tensor(Z, dtype=dtype, device=device), labels)
        assert m_t.dtype == V_t.dtype == dtype
        assert m_t.device.type == device
        np.testing.assert_allclose(m_t.cpu().numpy(), m, rtol=tol, atol=tol)
        np.testing.assert_allclose(V_t.cpu().numpy(), V, rtol=tol, atol=tol)


def test_margins_run_without_data(torch):
    m, V = softmax_margin(
        torch.empty(5, 3, device="meta"), torch.empty(5, dtype=torch.long, device="meta")
    )
    assert m.shape == (5,)
    assert V.shape == (5, 3)
    assert V.device.type == "meta"


def test_margin_gradient_is_v(torch):
    generator = torch.Generator().manual_seed(0)
    Z = torch.randn(6, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    y = torch.tensor([0, 1, 2, 3, 0, 1])
    m, V = softmax_margin(Z, y)
    (gradient,) = torch.autograd.grad(m.sum(), Z)
    torch.testing.assert_close(gradient, V)
    assert torch.autograd.gradcheck(lambda z: softmax_margin(z, y)[0], Z)


@pytest.mark.parametrize(
    ("logits", "y"), [((3, 1), [0, 0, 0]), ((3, 2), [0, 1]), ((3, 2), [0, 1, 2]), ((3,), [0, 0, 0])]
)
def test_margins_refuse_what_does_not_fit(torch, logits, y):
    with pytest.raises(ValueError, match=r"logits|y must"):
        softmax_margin(torch.zeros(logits), torch.tensor(y))


def tanh_net(torch, device="cpu", dtype=None):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.Tanh(), torch.nn.Linear(6, 4))
    return net.to(device=device, dtype=dtype or torch.float64)


def batch(torch, device="cpu", dtype=None, n=30):
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(n, 5, dtype=torch.float64, generator=generator)
    y = torch.randint(0, 4, (n,), generator=generator)
    return X.to(device=device, dtype=dtype or torch.float64), y.to(device)


def flat(torch, tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors])


def dense_step(torch, model, X, y, omega, damping, weight_decay):
    params = list(model.parameters())
    m, _ = softmax_margin(model(X), y)
    J = torch.stack([flat(torch, torch.autograd.grad(m_i, params, retain_graph=True)) for m_i in m])
    m = m.detach()
    w = torch.sigmoid(m) * torch.sigmoid(-m)
    theta = flat(torch, params)
    g = -J.T @ (omega * torch.sigmoid(-m)) + weight_decay * theta
    F = J.T @ ((omega * w)[:, None] * J)
    D = (damping + weight_decay) * torch.eye(len(theta), dtype=F.dtype, device=F.device)
    return theta - torch.linalg.solve(F + D, g)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_step_is_the_dense_step(torch, device, weight_decay, weighted):
    from skfrontier.nn import FastGaussNewton

    model = tanh_net(torch, device)
    X, y = batch(torch, device)
    weight = torch.linspace(0.1, 1, 30, dtype=torch.float64, device=device) if weighted else None
    omega = torch.full_like(X[:, 0], 1 / 30) if weight is None else weight / weight.sum()
    expected = dense_step(torch, model, X, y, omega, 1.0, weight_decay)
    optimizer = FastGaussNewton(
        model, lr=1.0, damping=1.0, cg_max_iter=40, cg_tol=1e-12, weight_decay=weight_decay
    )
    info = optimizer.step(X, y, sample_weight=weight)
    error = torch.linalg.norm(flat(torch, model.parameters()) - expected)
    assert float(error / torch.linalg.norm(expected)) <= 1e-8
    assert info.accepted
    assert 1 <= info.n_cg <= 40


@pytest.mark.parametrize("rule", ["fixed", "lm"])
def test_host_waits_once_a_step(torch, device, host_syncs, rule):
    from skfrontier.nn import FastGaussNewton

    model = tanh_net(torch, device)
    X, y = batch(torch, device)
    optimizer = FastGaussNewton(model, damping_rule=rule, cg_max_iter=25)
    host_syncs.clear()
    optimizer.step(X, y)
    assert len(host_syncs) == 1


def test_converged_conjugate_gradients_are_frozen(torch):
    from skfrontier.nn import FastGaussNewton

    results = []
    for most in (20, 200):
        model = tanh_net(torch)
        info = FastGaussNewton(model, cg_max_iter=most, cg_tol=1e-2).step(*batch(torch))
        assert info.n_cg < 20
        results.append(flat(torch, model.parameters()))
    torch.testing.assert_close(*results, rtol=0, atol=0)


def test_lm_never_raises_the_loss_of_its_batch(torch, device):
    from skfrontier.nn import FastGaussNewton

    model = tanh_net(torch, device)
    X, y = batch(torch, device)
    optimizer = FastGaussNewton(model, lr=1.0, damping=1e-6, damping_rule="lm", cg_max_iter=40)
    loss, rejected = float("inf"), 0
    for _ in range(30):
        before = flat(torch, model.parameters())
        info = optimizer.step(X, y)
        assert info.loss <= loss + 1e-9
        loss = info.loss
        if info.accepted:
            assert info.loss_after <= info.loss + 1e-9
        else:
            rejected += 1
            assert info.loss_after > info.loss
            assert optimizer.param_groups[0]["damping"] == 4 * info.damping
            torch.testing.assert_close(flat(torch, model.parameters()), before, rtol=0, atol=0)
    assert rejected > 0
    assert loss < 0.7


def test_dropout_has_one_mask_and_batch_norm_one_update(torch):
    from skfrontier.nn import FastGaussNewton

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 4)
    )
    X, y = batch(torch, dtype=torch.float32)
    optimizer = FastGaussNewton(model, lr=0.0, damping_rule="lm")
    state = torch.get_rng_state()
    info = optimizer.step(X, y)
    assert info.loss_after == pytest.approx(info.loss, rel=1e-6)  # another mask would differ
    assert int(model[1].num_batches_tracked) == 1
    after = torch.get_rng_state()
    torch.set_rng_state(state)
    model(X)
    assert torch.equal(torch.get_rng_state(), after)  # one forward pass was drawn


def test_unused_and_frozen_parameters_stay(torch):
    from skfrontier.nn import FastGaussNewton

    class Partial(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = torch.nn.Linear(5, 4), torch.nn.Linear(5, 4)
            self.frozen = torch.nn.Linear(5, 5).requires_grad_(False)

        def forward(self, x):
            return self.used(self.frozen(x))

    model = Partial()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    FastGaussNewton(model).step(*batch(torch, dtype=torch.float32))
    changed = {k for k, v in model.state_dict().items() if not torch.equal(v, before[k])}
    assert changed == {"used.weight", "used.bias"}


@pytest.mark.parametrize("what", ["range", "negative", "shape", "float", "nan", "weights"])
def test_wrong_batches_change_nothing(torch, what):
    from skfrontier.nn import FastGaussNewton

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 4)
    )
    X, y = batch(torch, dtype=torch.float32)
    weight = None
    if what == "range":
        y[3] = 4
    elif what == "negative":
        y[3] = -1
    elif what == "shape":
        y = y[:-1]
    elif what == "float":
        y = y.float()
    elif what == "nan":
        X[0, 0] = float("nan")
    else:
        weight = -torch.ones(30)
        weight[0] = 100
    before = {k: v.clone() for k, v in model.state_dict().items()}
    optimizer = FastGaussNewton(model)
    with pytest.raises(ValueError, match=r"targets|loss"):
        optimizer.step(X, y, sample_weight=weight)
    for k, v in model.state_dict().items():
        assert torch.equal(v, before[k]), k


def test_logits_must_be_a_matrix_of_two_classes_or_more(torch):
    from skfrontier.nn import FastGaussNewton

    X, y = batch(torch, dtype=torch.float32)
    for model in (
        torch.nn.Linear(5, 1),
        torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Flatten(0)),
    ):
        with pytest.raises(ValueError, match="logits"):
            FastGaussNewton(model).step(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"lr": -1.0},
        {"damping": 0.0},
        {"damping": float("nan")},
        {"damping_rule": "auto"},
        {"cg_max_iter": 0},
        {"cg_max_iter": 2.0},
        {"cg_tol": -1.0},
        {"weight_decay": float("inf")},
    ],
)
def test_wrong_parameters_are_named(torch, parameters):
    from skfrontier.nn import FastGaussNewton

    with pytest.raises(ValueError, match=next(iter(parameters))):
        FastGaussNewton(torch.nn.Linear(2, 2), **parameters)


def test_nothing_to_train_is_an_error(torch):
    from skfrontier.nn import FastGaussNewton

    with pytest.raises(ValueError, match="gradient"):
        FastGaussNewton(torch.nn.Linear(2, 2).requires_grad_(False))
    optimizer = FastGaussNewton(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="one group"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})


def test_state_is_saved_and_continues_identically(torch):
    from skfrontier.nn import FastGaussNewton

    def started():
        model = tanh_net(torch)
        return model, FastGaussNewton(model, lr=1.0, damping=1e-3, damping_rule="lm")

    model, optimizer = started()
    for _ in range(3):
        optimizer.step(*batch(torch))
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    again, other = started()
    file.seek(0)
    saved = torch.load(file)
    again.load_state_dict(saved["model"])
    other.load_state_dict(saved["optimizer"])
    for _ in range(3):
        assert optimizer.step(*batch(torch)) == other.step(*batch(torch))
    torch.testing.assert_close(
        flat(torch, model.parameters()), flat(torch, again.parameters()), rtol=0, atol=0
    )


@pytest.mark.parametrize("half", ["float64", "float32"])
@pytest.mark.parametrize("shift", [39.0, 60.0, 100.0, 400.0, 1e4])
def test_hopeless_margins_are_followed_down_their_slope(torch, device, shift, half):
    from skfrontier.nn import FastGaussNewton

    # exp(-m / 2) and its square overflow, and such rows have no curvature: the step is -g / tau
    X, _ = batch(torch, device, getattr(torch, half))
    torch.manual_seed(0)
    model = torch.nn.Linear(5, 4).to(X)
    y = torch.zeros(30, dtype=torch.long, device=device)
    with torch.no_grad():
        model.bias[1] += shift
        before = flat(torch, model.parameters())
    loss = torch.nn.functional.cross_entropy(model(X), y)
    gradient = flat(torch, torch.autograd.grad(loss, list(model.parameters())))
    FastGaussNewton(model, lr=1.0, damping=2.0).step(X, y)
    moved = flat(torch, model.parameters()) - before
    tol = 1e-6 if half == "float64" else 1e-6 + 1e-7 * shift
    torch.testing.assert_close(moved, -gradient / 2, rtol=1e-5, atol=tol)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_step_of_mixed_margins_is_the_dense_step(torch, device, weight_decay):
    from skfrontier.nn import FastGaussNewton

    model = tanh_net(torch, device)
    with torch.no_grad():
        model[2].weight *= 40
    X, y = batch(torch, device)
    margin, _ = softmax_margin(model(X).detach(), y)
    assert margin.min() < -40
    assert (margin > -40).any()
    omega = torch.full_like(X[:, 0], 1 / 30)
    expected = dense_step(torch, model, X, y, omega, 1.0, weight_decay)
    optimizer = FastGaussNewton(
        model, lr=1.0, damping=1.0, cg_max_iter=60, cg_tol=1e-13, weight_decay=weight_decay
    )
    optimizer.step(X, y)
    error = torch.linalg.norm(flat(torch, model.parameters()) - expected)
    assert float(error / torch.linalg.norm(expected)) <= 1e-8


@pytest.mark.parametrize("rule", ["fixed", "lm"])
def test_a_step_that_is_not_finite_is_not_taken(torch, rule):
    from skfrontier.nn import FastGaussNewton

    class Root(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(5, 4)
            self.norm = torch.nn.BatchNorm1d(5)
            self.t = torch.nn.Parameter(torch.zeros(()))

        def forward(self, x):  # finite, with an infinite slope in t
            return self.linear(self.norm(x)) + torch.sqrt(self.t) * x[:, :4]

    model = Root()
    before = {k: v.clone() for k, v in model.state_dict().items() if not k.startswith("norm.")}
    optimizer = FastGaussNewton(model, damping_rule=rule)
    if rule == "fixed":
        with pytest.raises(ValueError, match="finite"):
            optimizer.step(*batch(torch, dtype=torch.float32))
        assert int(model.norm.num_batches_tracked) == 0
    else:
        assert not optimizer.step(*batch(torch, dtype=torch.float32)).accepted
    for k, v in before.items():
        assert torch.equal(model.state_dict()[k], v), k


def test_batches_of_one_tied_weights_and_empty_batches(torch):
    from skfrontier.nn import FastGaussNewton

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(5, 5), torch.nn.Linear(5, 5)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(torch.tanh(self.a(x)))

    torch.manual_seed(0)
    model = Tied()
    optimizer = FastGaussNewton(model, damping_rule="lm", cg_max_iter=30)
    X, y = batch(torch, dtype=torch.float32)
    info = optimizer.step(X[:1], y[:1])
    assert info.accepted
    assert info.loss_after == pytest.approx(
        float(torch.nn.functional.cross_entropy(model(X[:1]), y[:1]).detach()), rel=1e-5
    )
    assert model.a.weight is model.b.weight
    with pytest.raises(ValueError, match="logits"):
        optimizer.step(X[:0], y[:0])
    with pytest.raises(ValueError, match="depend"):
        FastGaussNewton(torch.nn.Sequential(Detached(torch))).step(X, y)


def Detached(torch):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(2))

        def forward(self, x):
            return x

    return Module()


def test_learning_rate_schedules_work(torch):
    from skfrontier.nn import FastGaussNewton

    optimizer = FastGaussNewton(tanh_net(torch), lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    optimizer.step(*batch(torch))
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.5


@pytest.mark.parametrize("half", [False, True])
def test_digits_are_learned(torch, half):
    from skfrontier.nn import FastGaussNewton

    X, y = load_digits(return_X_y=True)
    dtype = torch.bfloat16 if half else torch.float32
    X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
    torch.manual_seed(0)
    order = torch.randperm(len(X))
    train, test = order[:1400], order[1400:]
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    ).to(dtype)  # fmt: skip
    optimizer = FastGaussNewton(model)

    def loss():
        with torch.no_grad():
            logits = model(X[train].to(dtype)).float()
        return float(torch.nn.functional.cross_entropy(logits, y[train]))

    for epoch in range(8):
        shuffled = train[torch.randperm(len(train))]
        for rows in shuffled.split(128):
            optimizer.step(X[rows].to(dtype), y[rows])
        if epoch == 3:
            assert loss() <= 0.12 + 0.05 * half
    with torch.no_grad():
        hits = model(X[test].to(dtype)).argmax(1) == y[test]
    assert hits.float().mean() >= 0.95


def test_arrays_do_not_import_torch():
    code = (
        "import sys, numpy as np, skfrontier.algos as a;"
        "a.softmax_margin(np.zeros((2, 3)), [0, 1]);"
        "a.fit_softmax(np.eye(3), [0, 1, 2], l2=1.0);"
        "print('torch' in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.stdout.strip() == "False", finished.stderr
