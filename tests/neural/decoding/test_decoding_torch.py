"""Tensors: the sets of the numpy functions, on any device, without waiting for it."""

import subprocess
import sys

import numpy as np
import pytest

from skfrontier.algos import (
    decode_masked,
    factor_commit,
    frechet_commit,
    threshold_commit,
    token_confidence,
    top_k_commit,
)
from skfrontier.datasets import make_template_sequences

RULES = [
    (frechet_commit, {}),
    (frechet_commit, {"margin": 0.25, "min_commit": 3}),
    (frechet_commit, {"calibration_error": 0.01, "max_commit": 5, "min_commit": 0}),
    (factor_commit, {}),
    (factor_commit, {"variant": "published", "factor": 0.8}),
    (threshold_commit, {"threshold": 0.6}),
    (top_k_commit, {"k": 3}),
]


def random_batch(rng):
    """Profiles with many ties, some flat, some steep, some rows without masked positions."""
    shape = (int(rng.integers(1, 6)), int(rng.integers(1, 40)))
    deficits = rng.random(shape) ** rng.uniform(1, 5) * rng.choice([0.1, 1.0])
    if rng.random() < 0.5:
        deficits = np.round(deficits, 2)
    mask = rng.random(shape) < rng.choice([0.0, 0.5, 0.9])
    return deficits, deficits * np.round(rng.random(shape), 1), mask


def same(ours, theirs):
    for field in ("commit", "n_commit", "certified"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field).cpu().numpy())
    for field in ("score", "lower_bound"):
        np.testing.assert_allclose(
            getattr(ours, field), getattr(theirs, field).cpu().numpy(), atol=1e-12
        )


@pytest.mark.parametrize(("commit", "parameters"), RULES)
def test_numpy_and_torch_commit_the_same(torch, device, commit, parameters):
    rng = np.random.default_rng(0)
    for _ in range(150):
        deficits, runner_up, mask = random_batch(rng)
        on_device = [torch.from_numpy(a).to(device) for a in (deficits, mask)]
        same(
            commit(deficits=deficits, mask=mask, **parameters),
            commit(deficits=on_device[0], mask=on_device[1], **parameters),
        )
        if commit is frechet_commit:
            sharp = torch.from_numpy(runner_up).to(device)
            same(
                commit(deficits=deficits, mask=mask, runner_up=runner_up, **parameters),
                commit(deficits=on_device[0], mask=on_device[1], runner_up=sharp, **parameters),
            )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("commit", "parameters"), RULES)
def test_confidences_of_every_precision(torch, device, commit, parameters, dtype):
    c = (1 - np.random.default_rng(1).random((4, 30)) ** 4).astype(dtype)
    same(commit(c, **parameters), commit(torch.from_numpy(c).to(device), **parameters))
    single = commit(torch.from_numpy(c[0]).to(device), **parameters)
    assert single.commit.shape == (30,)
    assert single.n_commit.shape == ()
    assert single.commit.device.type == device


def test_no_host_sync(torch, device, host_syncs):
    logits = torch.randn(3, 50, 20, device=device)
    mask = torch.rand(3, 50, device=device) < 0.5
    found = token_confidence(logits)
    for commit, parameters in RULES:
        commit(deficits=found.deficit, mask=mask, **parameters)
        commit(found.confidence, **parameters)
    frechet_commit(deficits=found.deficit, runner_up=found.runner_up, mask=mask)
    assert host_syncs == []


def test_shapes_on_the_meta_device(torch):
    found = token_confidence(torch.empty(3, 50, 20, device="meta"))
    assert found.deficit.shape == (3, 50)
    for commit, parameters in RULES:
        result = commit(deficits=found.deficit, **parameters)
        assert result.commit.shape == (3, 50)
        assert result.certified.device.type == "meta"


def test_empty_rows(torch, device):
    result = frechet_commit(torch.empty(2, 0, device=device))
    assert result.commit.shape == (2, 0)
    assert result.certified.cpu().all()


def test_bad_values_are_never_certified(torch, device):
    c = torch.tensor(
        [[0.99, float("nan"), 0.98], [0.99, 0.98, 1.5], [0.9, 0.9, 0.9]], device=device
    )
    result = frechet_commit(c)
    assert result.certified.tolist() == [False, False, True]
    assert result.commit[0, 1].item() is False
    assert result.commit[1, 2].item() is False
    assert result.score.isnan().tolist() == [True, True, False]
    mask = torch.tensor(
        [[True, False, True], [True, True, False], [True, True, True]], device=device
    )
    assert frechet_commit(c, mask=mask).certified.all().item()
    over = frechet_commit(c[2], runner_up=torch.full((3,), 0.2, device=device))
    assert not over.certified.item()


def test_kinds_do_not_mix(torch):
    with pytest.raises(TypeError, match="torch tensors"):
        frechet_commit(torch.ones(3), mask=np.ones(3, bool))
    with pytest.raises(ValueError, match="mask must be boolean"):
        frechet_commit(torch.ones(3), mask=torch.ones(3))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_token_confidence_equals_numpy(torch, device, dtype):
    logits = (torch.randn(4, 30, 50) * 10).to(getattr(torch, dtype))
    found = token_confidence(logits.to(device))
    expected = token_confidence(logits.to(torch.float64).numpy())
    np.testing.assert_array_equal(found.token.cpu(), expected.token)
    for field in ("confidence", "deficit", "runner_up"):
        np.testing.assert_allclose(
            getattr(found, field).cpu(), getattr(expected, field), rtol=1e-12, atol=0
        )


def test_logits_are_taken_in_parts(torch, device, monkeypatch):
    from skfrontier.algos.neural.decoding import nn

    logits = torch.randn(3, 7, 11, device=device).transpose(0, 1)
    whole = token_confidence(logits)
    assert whole.deficit.shape == (7, 3)
    for entries in (1, 25, 11 * 21):
        monkeypatch.setattr(nn, "_CHUNK", entries)
        parts = token_confidence(logits)
        for field in ("token", "confidence", "deficit", "runner_up"):
            assert torch.equal(getattr(whole, field), getattr(parts, field))
    assert token_confidence(torch.empty(0, 4, 5, device=device)).token.shape == (0, 4)
    assert token_confidence(torch.tensor([1.0, 3.0], device=device)).token.shape == ()


@pytest.fixture
def model():
    return make_template_sequences(3, 40, 12, random_state=2)


@pytest.mark.parametrize("block_length", [None, 16])
@pytest.mark.parametrize("rule", ["frechet", "factor", "threshold", "top_k"])
def test_decoding_on_the_device(torch, device, model, rule, block_length):
    def marginals(x):
        return torch.from_numpy(model.marginals(x.cpu().numpy())).to(device)

    x0 = torch.full((40,), -1, device=device)
    x0[7] = 3
    ours = decode_masked(marginals, 40, rule=rule, block_length=block_length, x0=x0)
    expected = decode_masked(
        model.marginals, 40, rule=rule, block_length=block_length, x0=x0.cpu().numpy()
    )
    np.testing.assert_array_equal(ours.tokens.cpu(), expected.tokens)
    np.testing.assert_array_equal(ours.commit_sizes.cpu(), expected.commit_sizes)
    assert sorted(ours.order.tolist()) == sorted(expected.order.tolist())
    assert (ours.n_steps, ours.all_certified) == (expected.n_steps, expected.all_certified)
    assert ours.tokens.device.type == device


def test_decoding_waits_once_a_step(torch, device, host_syncs):
    P = torch.rand(30, 9, device=device, dtype=torch.float64)
    P /= P.sum(dim=1, keepdim=True)
    result = decode_masked(
        lambda x: P, 30, rule="top_k", rule_params={"k": 4},
        x0=torch.full((30,), -1, device=device),
    )  # fmt: skip
    before_and_after = 3
    assert len(host_syncs) <= result.n_steps + before_and_after


def test_bad_marginals_of_the_device(torch, device):
    x0 = torch.full((5,), -1, device=device)
    P = torch.full((5, 4), 0.25, device=device)
    P[3] = 0.3
    with pytest.raises(ValueError, match=r"row 3 sums to 1\.2"):
        decode_masked(lambda x: P, 5, x0=x0)
    with pytest.raises(TypeError, match="must return a tensor"):
        decode_masked(lambda x: np.full((5, 4), 0.25), 5, x0=x0)
    with pytest.raises(ValueError, match="must return shape"):
        decode_masked(lambda x: P[:2], 5, x0=x0)


def test_precisions_below_float16(torch):
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        half_spacing = torch.finfo(dtype).eps / 4
        result = frechet_commit(torch.ones(100).to(dtype))
        assert (
            (int(result.n_commit) + 1) * half_spacing
            < 1
            <= (int(result.n_commit) + 2) * half_spacing
        )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_rounded_up_tensors_certify_nothing_false(torch, device, dtype):
    rng = np.random.default_rng(0)
    d = rng.random((2000, 12)) ** rng.uniform(0.1, 4, (2000, 1)) + 1e-3
    d *= (1 + 1e-15) / (d.sum(axis=1) + d.max(axis=1))[:, None]  # the sharp law has another mode
    c = torch.from_numpy(1 - d).to(getattr(torch, dtype)).to(device)
    assert not frechet_commit(c, min_commit=12).certified.any().item()


def test_low_precision_deficits_with_runners_up(torch, device):
    d = torch.tensor([0.3, 0.1], dtype=torch.float64, device=device)
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        result = frechet_commit(deficits=d.to(dtype), runner_up=d)
        assert int(result.n_commit) == 2
        assert result.certified.item()


def test_a_tensor_equal_to_the_threshold_passes(torch, device):
    for c in (0.1, 0.3, 0.45, 0.9):
        values = torch.full((3,), c, dtype=torch.float64, device=device)
        assert int(threshold_commit(values, threshold=c).n_commit) == 3


def test_tensors_of_the_wrong_kind_are_named(torch):
    for call in (frechet_commit, token_confidence):
        with pytest.raises(ValueError, match=r"must hold real numbers, got dtype torch\.complex64"):
            call(torch.eye(3) + 0j)
        with pytest.raises(ValueError, match="is a sparse tensor; use"):
            call(torch.eye(3).to_sparse())
    x0 = torch.full((4,), -1)
    with pytest.raises(ValueError, match=r"marginals\(x\) must hold real numbers"):
        decode_masked(lambda x: torch.full((4, 2), 0.5) + 0j, 4, x0=x0)
    with pytest.raises(ValueError, match=r"row 0 sums to 1\.0, its least entry is -1\.0"):
        decode_masked(lambda x: torch.tensor([[2.0, -1.0]] * 4), 4, x0=x0)


def test_numpy_calls_do_not_import_torch():
    code = (
        "import sys; from skfrontier.algos import decode_masked, frechet_commit, token_confidence;"
        "frechet_commit([0.9]); token_confidence([[0.0, 1.0]]);"
        "decode_masked(lambda x: [[0.5, 0.5]] * 3, 3); print('torch' in sys.modules)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "False"
