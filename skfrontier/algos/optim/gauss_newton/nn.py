"""Fast Gauss-Newton for PyTorch: margins of tensors, and the optimizer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.func import functional_call

Tensors = list[torch.Tensor]
LEAST_MARGIN = -40.0  # the curvature of margins below is no more than 4e-18


def margin_of_tensors(logits: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`softmax_margin` of tensors; classes out of range raise where the device can tell."""
    if logits.ndim != 2 or logits.shape[1] < 2:
        raise ValueError(
            "logits must have shape (n_samples, n_classes) with two classes or more; got "
            f"{tuple(logits.shape)}."
        )
    if not logits.is_floating_point():
        raise ValueError(f"logits must be floating point, got {logits.dtype}.")
    _check_targets(y, logits, "y")
    if not logits.is_meta and not bool(_in_range(y, logits.shape[1])):
        raise ValueError(f"y must lie in 0..{logits.shape[1] - 1}.")
    return _margins(logits, y)


def _margins(logits: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    index = y[:, None].long()
    others = logits.scatter(1, index, -torch.inf)
    margin = logits.gather(1, index).squeeze(1) - torch.logsumexp(others, dim=1)
    v = (-torch.softmax(others, dim=1)).scatter(1, index, 1.0)
    return margin, v


def _check_targets(y: torch.Tensor, logits: torch.Tensor, name: str) -> None:
    if y.shape != logits.shape[:1]:
        raise ValueError(f"{name} must have shape ({len(logits)},), got {tuple(y.shape)}.")
    if y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        raise ValueError(f"{name} must hold integers, got {y.dtype}.")


def _in_range(y: torch.Tensor, n_classes: int) -> torch.Tensor:
    return ((y >= 0) & (y < n_classes)).all()


@dataclass(frozen=True)
class FGNStepInfo:
    """What one step of `FastGaussNewton` did.

    Attributes
    ----------
    loss : float
        Mean loss of the batch before the step, without weight decay.
    loss_after : float or None
        After the full step, with the same dropout mask; None with damping_rule='fixed', which does not
        look.
    n_cg : int
        Steps of conjugate gradients until their target, at most ``cg_max_iter``.
    damping : float
        Damping that the step used.
    accepted : bool
        Whether the parameters were changed.
    """

    loss: float
    loss_after: float | None
    n_cg: int
    damping: float
    accepted: bool


class FastGaussNewton(torch.optim.Optimizer):
    """Damped Fast Gauss-Newton for a classifier with cross-entropy loss.

    A step solves a system with one equation an example, by conjugate gradients: ``theta += lr *
    Delta`` with ``Delta = A^T (A A^T + tau I)^-1 s`` and rows of A the scaled gradients of the margins
    of the true classes.

    Parameters
    ----------
    model : torch.nn.Module
        Maps inputs to logits of shape (n_samples, n_classes). Parameters that require a gradient are
        trained.
    lr : float, default=0.5
        Step size. F lies below the Gauss-Newton matrix, so full steps with little damping may be too
        long.
    damping : float, default=0.1
        Added to F, positive.
    damping_rule : {'fixed', 'lm'}, default='fixed'
        'lm': a step that raises the loss of the batch is undone and the damping made 4 times as large;
        good steps lower it (Levenberg-Marquardt). Costs one more forward pass.
    cg_max_iter : int, default=10
        Conjugate gradient steps, each a backward pass and a product with the Jacobian.
    cg_tol : float, default=1e-3
        Relative residual at which the solution is kept as it is.
    weight_decay : float, default=0.0
        Ridge ``weight_decay / 2 ||theta||^2`` on all parameters.

    Raises
    ------
    ValueError
        If a parameter is not accepted, or the model has nothing to train.

    Notes
    -----
    One forward pass serves the whole step; products with the Jacobian differentiate its backward pass,
    so every operation of the model must be differentiable twice. The host waits for the device once a
    step: conjugate gradients that have reached their target are frozen, not left. Dropout has one mask
    in a step, and running statistics are updated once. Parameters in float16 or bfloat16 have their
    conjugate gradient vectors in float32. For two classes F is the Gauss-Newton matrix (proven); for
    more it is smaller, and the gradient is exact.

    References
    ----------
    Korbit and Zanon, *Fast Gauss-Newton for Multiclass Cross-Entropy*, arXiv:2605.06081.

    Examples
    --------
    >>> import torch
    >>> from skfrontier.nn import FastGaussNewton
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    >>> inputs = torch.randn(60, 2)
    >>> targets = (inputs[:, 0] > 0).long() + (inputs[:, 1] > 0).long()
    >>> optimizer = FastGaussNewton(model)
    >>> losses = [optimizer.step(inputs, targets).loss for _ in range(20)]
    >>> losses[-1] < 0.5 * losses[0]
    True
    """

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        lr: float = 0.5,
        damping: float = 0.1,
        damping_rule: str = "fixed",
        cg_max_iter: int = 10,
        cg_tol: float = 1e-3,
        weight_decay: float = 0.0,
    ) -> None:
        for name, value, least in (
            ("lr", lr, 0.0),
            ("cg_tol", cg_tol, 0.0),
            ("weight_decay", weight_decay, 0.0),
        ):
            if not least <= value < float("inf"):
                raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")
        if not 0.0 < damping < float("inf"):
            raise ValueError(f"damping must be positive and finite, got {damping!r}.")
        if damping_rule not in ("fixed", "lm"):
            raise ValueError(f"damping_rule must be 'fixed' or 'lm', got {damping_rule!r}.")
        if isinstance(cg_max_iter, bool) or not isinstance(cg_max_iter, int) or cg_max_iter < 1:
            raise ValueError(f"cg_max_iter must be a positive integer, got {cg_max_iter!r}.")
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        if not trained:
            raise ValueError("model has no parameter that requires a gradient.")
        self._model = model
        self._names = list(trained)
        defaults = {
            "lr": lr,
            "damping": damping,
            "damping_rule": damping_rule,
            "cg_max_iter": cg_max_iter,
            "cg_tol": cg_tol,
            "weight_decay": weight_decay,
        }
        super().__init__(list(trained.values()), defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add the one group of parameters; a second one raises ValueError, because steps are joint."""
        if self.param_groups:
            raise ValueError("FastGaussNewton has one group: all trained parameters of the model.")
        super().add_param_group(param_group)

    def step(  # type: ignore[override]
        self,
        inputs: Any,
        targets: torch.Tensor,
        *,
        sample_weight: torch.Tensor | None = None,
    ) -> FGNStepInfo:
        """Take one step on a batch.

        Parameters
        ----------
        inputs : tensor, or tuple of the positional arguments of the model
            A batch.
        targets : tensor of shape (n_samples,), integer
            True classes.
        sample_weight : tensor of shape (n_samples,) or None, default=None
            Not negative; scaled to sum to one.

        Returns
        -------
        FGNStepInfo

        Raises
        ------
        ValueError
            If logits are not (n_samples, n_classes) with two classes or more, targets do not fit or
            are out of range, or the loss is not finite, or (with damping_rule='fixed') the step;
            parameters and buffers are then as before.
        """
        group = self.param_groups[0]
        arguments = inputs if isinstance(inputs, tuple) else (inputs,)
        rng_state, buffers = _random_state(targets.device), _copies_of_buffers(self._model)
        try:
            batch = _linearize(self._model, group["params"], arguments, targets, sample_weight)
            solution = _solve(batch, group)
            trial = [
                torch.add(p.detach().to(d.dtype), d, alpha=group["lr"]).to(p.dtype)
                for p, d in zip(group["params"], solution.delta, strict=True)
            ]
            finite = torch.stack([new.isfinite().all() for new in trial]).all()
            told = [batch.loss, batch.valid, finite, solution.n_cg]
            if group["damping_rule"] == "lm":
                after, model_decrease = self._look_ahead(
                    trial, arguments, targets, batch, solution, group, rng_state, buffers
                )
                told += [after, model_decrease]
            # The one place where the host waits for the device.
            loss, valid, can_move, n_cg, *ahead = torch.stack([t.double() for t in told]).tolist()
            _refuse(loss, valid, can_move or bool(ahead))
        except Exception:
            _restore(self._model, buffers)
            raise
        damping = group["damping"]
        accepted = bool(can_move) and (not ahead or ahead[0] <= loss + 1e-12 * abs(loss))
        if accepted:
            with torch.no_grad():
                for p, new in zip(group["params"], trial, strict=True):
                    p.copy_(new)
        if ahead:
            group["damping"] = _adapted(damping, loss - ahead[0], ahead[1], accepted)
        return FGNStepInfo(loss, ahead[0] if ahead else None, int(n_cg), damping, accepted)

    def _look_ahead(
        self,
        trial: Tensors,
        arguments: tuple[Any, ...],
        targets: torch.Tensor,
        batch: "_Batch",
        solution: "_Solution",
        group: dict[str, Any],
        rng_state: Any,
        buffers: dict[str, torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss at the trial parameters with the same dropout mask, and the promised decrease."""
        state = {
            **{k: b.clone() for k, b in buffers.items()},
            **dict(zip(self._names, trial, strict=True)),
        }
        with torch.no_grad(), _same_randomness(rng_state, targets.device):
            logits = functional_call(self._model, state, arguments)
            margin, _ = _margins(logits.to(batch.s.dtype), batch.labels)
            after = (batch.omega * torch.nn.functional.softplus(-margin)).sum()
        slope = torch.dot(batch.s, batch.forward(solution.delta))
        return after, 0.5 * group["lr"] * slope


@dataclass(frozen=True)
class _Batch:
    """A = diag(sqrt(omega w)) J at the parameters: products, right-hand side, loss.

    The gradient of the loss is ``-A^T s - rest``; rows of ``rest`` have hardly any curvature.
    """

    forward: Callable[[Tensors], torch.Tensor]
    adjoint: Callable[[torch.Tensor], Tensors]
    rest: Tensors
    s: torch.Tensor
    omega: torch.Tensor
    labels: torch.Tensor
    loss: torch.Tensor
    valid: torch.Tensor


@dataclass(frozen=True)
class _Solution:
    delta: Tensors
    n_cg: torch.Tensor


def _linearize(
    model: torch.nn.Module,
    params: Tensors,
    arguments: tuple[Any, ...],
    targets: torch.Tensor,
    sample_weight: torch.Tensor | None,
) -> _Batch:
    """One forward pass, and the products with the Jacobian of the margins and its transpose."""
    with torch.enable_grad():
        logits = model(*arguments)
    if logits.ndim != 2 or logits.shape[1] < 2 or len(logits) == 0:
        raise ValueError(
            "The model must return logits of shape (n_samples, n_classes) with two classes or more; "
            f"got {tuple(logits.shape)}."
        )
    if not logits.requires_grad:
        raise ValueError("The logits of the model do not depend on what is to be trained.")
    _check_targets(targets, logits, "targets")
    n_samples, n_classes = logits.shape
    dtype = _working_dtype(logits.dtype)
    labels = targets.long().clamp(0, n_classes - 1)
    margin, v = _margins(logits.detach().to(dtype), labels)
    omega = _weights(sample_weight, n_samples, margin)
    half = torch.exp(-0.5 * margin.abs())
    root = omega.sqrt() * half / (1 + half * half)
    # s = sqrt(omega) u / sqrt(w) = sqrt(omega) exp(-m / 2), whose square overflows float32 below -88
    lost = margin < LEAST_MARGIN
    s = omega.sqrt() * torch.exp(-0.5 * margin.clamp(min=LEAST_MARGIN)) * ~lost
    loss = (omega * torch.nn.functional.softplus(-margin)).sum()
    valid = _in_range(targets, n_classes) & (omega >= 0).all()

    dummy = torch.zeros(n_samples, dtype=dtype, device=logits.device, requires_grad=True)
    with torch.enable_grad():
        pulled = torch.autograd.grad(
            logits,
            params,
            grad_outputs=(v * (root * dummy)[:, None]).to(logits.dtype),
            create_graph=True,
            allow_unused=True,
        )
    used = [i for i, p in enumerate(pulled) if p is not None and p.requires_grad]

    def pull(slope: torch.Tensor) -> Tensors:
        found = torch.autograd.grad(
            logits,
            params,
            grad_outputs=(v * slope[:, None]).to(logits.dtype),
            retain_graph=True,
            allow_unused=True,
        )
        return [
            torch.zeros_like(p, dtype=dtype) if g is None else g.to(dtype)
            for g, p in zip(found, params, strict=True)
        ]

    def adjoint(a: torch.Tensor) -> Tensors:
        return pull(root * a)

    def forward(tangent: Tensors) -> torch.Tensor:
        # The pulled-back vector is linear in the dummy: its transpose is the product with A.
        (found,) = torch.autograd.grad(
            [pulled[i] for i in used],
            dummy,
            grad_outputs=[tangent[i].to(pulled[i].dtype) for i in used],
            retain_graph=True,
        )
        return found

    rest = omega * torch.sigmoid(-margin) * lost
    return _Batch(forward, adjoint, pull(rest), s, omega, labels, loss, valid)


def _solve(batch: _Batch, group: dict[str, Any]) -> _Solution:
    """``r + A^T (A A^T + tau I)^-1 (s - A r)``, ``r = (rest - mu theta) / tau``, tau = mu + damping."""
    mu = group["weight_decay"]
    tau = mu + group["damping"]
    direct = [
        (g - mu * p.detach().to(g.dtype)) / tau
        for g, p in zip(batch.rest, group["params"], strict=True)
    ]
    a, n_cg = _frozen_conjugate_gradients(
        lambda t: batch.forward(batch.adjoint(t)) + tau * t,
        batch.s - batch.forward(direct),
        tol=group["cg_tol"],
        n_iter=group["cg_max_iter"],
    )
    delta = [d + r for d, r in zip(batch.adjoint(a), direct, strict=True)]
    return _Solution(delta, n_cg)


def _frozen_conjugate_gradients(
    product: Callable[[torch.Tensor], torch.Tensor], b: torch.Tensor, *, tol: float, n_iter: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Exactly ``n_iter`` steps; those behind the target change nothing, so that no value is read."""
    x = torch.zeros_like(b)
    r = b
    p = b
    rr = torch.dot(r, r)
    target = tol * tol * rr
    n_used = torch.zeros((), dtype=b.dtype, device=b.device)
    for _ in range(n_iter):
        active = (rr > target).to(b.dtype)
        Ap = product(p)
        curvature = torch.dot(p, Ap)
        usable = active * (curvature > 0)
        alpha = usable * rr / torch.where(curvature > 0, curvature, 1.0)
        x = x + alpha * p
        r = r - alpha * Ap
        following = torch.dot(r, r)
        beta = usable * following / torch.where(rr > 0, rr, 1.0)
        p = torch.where(usable > 0, r + beta * p, p)
        rr = torch.where(usable > 0, following, rr)
        n_used = n_used + active
    return x, n_used


def _adapted(damping: float, decrease: float, promised: float, accepted: bool) -> float:
    if not accepted:
        return 4 * damping
    gain = decrease / promised if promised > 0 else 0.0
    if gain > 0.75:
        return max(damping / 3, 1e-8)
    return 2 * damping if gain < 0.25 else damping


def _weights(
    sample_weight: torch.Tensor | None, n_samples: int, like: torch.Tensor
) -> torch.Tensor:
    if sample_weight is None:
        return torch.full_like(like, 1.0 / n_samples)
    if sample_weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), got {tuple(sample_weight.shape)}."
        )
    weight = sample_weight.to(like.dtype)
    return weight / weight.sum()


def _refuse(loss: float, valid: float, can_move: bool) -> None:
    if not valid:
        raise ValueError(
            "targets must be classes of the logits, and sample_weight not negative; "
            "nothing was changed."
        )
    if loss != loss or loss in (float("inf"), float("-inf")):
        raise ValueError(f"The loss of the batch is {loss}; nothing was changed.")
    if not can_move:
        raise ValueError("The step of the batch is not finite, its loss is; nothing was changed.")


def _working_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _copies_of_buffers(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: buffer.clone() for name, buffer in model.named_buffers()}


def _restore(model: torch.nn.Module, buffers: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])


def _random_state(device: torch.device) -> Any:
    cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    return torch.get_rng_state(), cuda


class _same_randomness:
    """Draw again what was drawn from the saved state on, and leave the generators as they were."""

    def __init__(self, state: Any, device: torch.device) -> None:
        self._state, self._device = state, device

    def __enter__(self) -> None:
        self._now = _random_state(self._device)
        self._set(self._state)

    def __exit__(self, *_: object) -> None:
        self._set(self._now)

    def _set(self, state: Any) -> None:
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state(state[1], self._device)
