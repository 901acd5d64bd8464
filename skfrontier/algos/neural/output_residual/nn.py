"""The corrected product of tensors, and a module in place of ``torch.nn.Linear``."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from skfrontier.algos._validation import check_choice, check_count, check_generator
from skfrontier.algos.neural.output_residual.approximation import (
    Approximation,
    Split,
    approximate,
    check_budget,
)
from skfrontier.algos.neural.output_residual.cost import largest_dynamic_rank
from skfrontier.algos.neural.output_residual.factors import LowRankFactors, check_factors
from skfrontier.algos.neural.output_residual.product import DynamicProduct

QR = ("householder", "cholesky")


def dynamic_matmul(
    X: Any, residual: Any, factors: LowRankFactors, sketch: Any, *, probes: Any = None
) -> DynamicProduct:
    """`skfrontier.algos.dynamic_matmul` of tensors; leading dimensions of ``X`` are groups."""
    if X.ndim < 2 or residual.ndim != 2 or X.shape[-1] != residual.shape[0]:
        raise ValueError(
            f"X of shape {tuple(X.shape)} does not fit a residual of shape {tuple(residual.shape)}."
        )
    check_factors(factors, tuple(residual.shape))
    for name, value in (("sketch", sketch), ("probes", probes)):
        if value is not None and (value.ndim != 2 or value.shape[0] != residual.shape[0]):
            raise ValueError(
                f"{name} must have {residual.shape[0]} rows, one an input of residual; "
                f"got shape {tuple(value.shape)}."
            )
    return corrected_product(X, residual, factors, sketch, probes, "householder")


def corrected_product(
    X: torch.Tensor,
    residual: torch.Tensor,
    factors: LowRankFactors,
    sketch: torch.Tensor,
    probes: torch.Tensor | None,
    qr: str,
) -> DynamicProduct:
    """`dynamic_matmul` of tensors that have been checked; nothing here waits for the device."""
    n, l, k = X.shape[-2], sketch.shape[1], factors.rank  # noqa: E741
    if l == 0 or n <= 1:
        output = (X @ factors.left) @ factors.right
        error = None if probes is None else _root_mean_square(X.detach() @ probes)
        return DynamicProduct(output, error, X.new_zeros((*X.shape[:-1], 0)))
    if n <= l:
        output = (X @ factors.left) @ factors.right + X @ residual
        eye = torch.eye(n, dtype=X.dtype, device=X.device).expand(*X.shape[:-1], n)
        error = None if probes is None else torch.zeros(X.shape[:-2], device=X.device)
        return DynamicProduct(output, error, eye)
    both = X @ torch.cat([factors.left, sketch], dim=1)
    U = orthonormal_basis(both[..., k:].detach(), qr)
    correction = U @ ((U.mT @ X) @ residual)
    output = both[..., :k] @ factors.right + correction
    if probes is None:
        return DynamicProduct(output, None, U)
    missed = X.detach() @ probes
    return DynamicProduct(output, _root_mean_square(missed - U @ (U.mT @ missed)), U)


def orthonormal_basis(S: torch.Tensor, qr: str) -> torch.Tensor:
    """Orthonormal columns with the span of ``S``; half precision is factored in float32."""
    wide = S.float() if S.dtype in (torch.float16, torch.bfloat16) else S
    Q = torch.linalg.qr(wide)[0] if qr == "householder" else _cholesky_qr2(wide)
    return Q.to(S.dtype)


def _cholesky_qr2(S: torch.Tensor) -> torch.Tensor:
    """Cholesky QR, twice, of columns scaled to length one.

    The shift keeps dependent columns from breaking the factorisation: they come out short, not
    orthonormal, and add next to nothing to the projection.
    """
    norms = torch.linalg.vector_norm(S, dim=-2, keepdim=True)
    Q = S / torch.where(norms > 0, norms, torch.ones_like(norms))
    shift = S.shape[-1] * torch.finfo(S.dtype).eps
    for _ in range(2):
        gram = Q.mT @ Q + shift * torch.eye(S.shape[-1], dtype=S.dtype, device=S.device)
        L = torch.linalg.cholesky_ex(gram)[0]
        Q = torch.linalg.solve_triangular(L.mT, Q, upper=True, left=False)
    return Q


def _root_mean_square(missed: torch.Tensor) -> torch.Tensor:
    """Root of the mean over probes of the squared length, group by group, in float32 or float64."""
    wide = missed if missed.dtype == torch.float64 else missed.float()
    return (wide.square().sum(dim=(-2, -1)) / missed.shape[-1]).sqrt()


class DynamicResidualLinear(nn.Module):
    """A linear layer for a share of the arithmetic, whose output is corrected for the tokens at hand.

    Made from a trained layer by `from_linear`; the constructor makes an empty one, to load a state into.

    Parameters
    ----------
    in_features, out_features : int
        As of the linear layer.
    rank, dynamic_rank : int
        Ranks of the static part and of the correction.
    bias : bool, default=True
        Whether there is a bias.
    budget : float, default=1.0
        Share of the dense multiply-adds that bounds the rank of the correction of short inputs.
    n_probes : int, default=4
        Number of probes of the error estimate; 0 for none.
    qr : {'householder', 'cholesky'}, default='householder'
        How the basis is made orthonormal. 'cholesky' (twice, float32 for half precision) takes products
        only.
    device : torch.device, optional
        Where the buffers lie.
    dtype : torch.dtype, optional
        Their type.

    Attributes
    ----------
    error : Tensor or None
        Of the last `forward`: estimate of the relative error of each group's output, bias apart, on the
        device.
    split : Split or None
        The choice of `from_linear` with its held-out error; None after a bare construction.

    Notes
    -----
    ``forward`` takes ``(..., n, in_features)``: the n tokens of each leading index are one group, all
    groups have one size and are computed as one batch, without waiting for the device. A single token
    (decoding) takes the static part alone. The weights are buffers: they are not trained. Gradients flow
    to the input, with the basis taken for a constant.

    The residual weight takes the place of the weight in memory, and the factors come on top: the layer
    saves arithmetic, not storage.

    References
    ----------
    Halko, Martinsson, Tropp, SIAM Review 53 (2011), for the basis; Wang et al., *SVD-LLM*,
    arXiv:2403.07378, for the static part. The scheme is this library's.

    Examples
    --------
    >>> import torch
    >>> from skfrontier.nn import DynamicResidualLinear
    >>> _ = torch.manual_seed(0)
    >>> linear = torch.nn.Linear(64, 64)
    >>> tokens = torch.randn(8, 100, 4) @ torch.randn(8, 4, 64)  # each sequence in its own subspace
    >>> layer = DynamicResidualLinear.from_linear(linear, tokens, budget=0.5, random_state=0)
    >>> layer
    DynamicResidualLinear(64, 64, rank=0, dynamic_rank=8, bias=True, qr='householder')
    >>> torch.allclose(layer(tokens), linear(tokens), atol=1e-4)
    True
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        rank: int,
        dynamic_rank: int,
        *,
        bias: bool = True,
        budget: float = 1.0,
        n_probes: int = 4,
        qr: str = "householder",
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.in_features = check_count(in_features, "in_features")
        self.out_features = check_count(out_features, "out_features")
        self.rank = check_count(rank, "rank", 0)
        self.dynamic_rank = check_count(dynamic_rank, "dynamic_rank", 0)
        self.n_probes = check_count(n_probes, "n_probes", 0)
        self.qr = check_choice(qr, "qr", QR)
        self.budget = float(budget)
        self.error: torch.Tensor | None = None
        self.split: Split | None = None

        def empty(*shape: int) -> torch.Tensor:
            return torch.zeros(shape, device=device, dtype=dtype)

        self.register_buffer("left", empty(self.in_features, self.rank))
        self.register_buffer("right", empty(self.rank, self.out_features))
        self.register_buffer("residual", empty(self.in_features, self.out_features))
        self.register_buffer("sketch", empty(self.in_features, self.dynamic_rank))
        self.register_buffer("probes", empty(self.in_features, self.n_probes))
        self.register_buffer("bias", empty(self.out_features) if bias else None)

    @classmethod
    def from_linear(
        cls,
        linear: nn.Linear,
        calibration: Any,
        *,
        budget: float = 0.25,
        structure: str = "auto",
        dynamic_rank: Any = "auto",
        hedge: float = 0.1,
        n_probes: int = 4,
        qr: str = "householder",
        random_state: Any = None,
    ) -> "DynamicResidualLinear":
        """Make the layer from a trained one and inputs like those to come.

        Parameters
        ----------
        linear : torch.nn.Linear
            The layer, which stays as it is.
        calibration : Tensor of shape (..., n, in_features), or an iterable of such
            Inputs; the n tokens of each leading index are one group.
        budget, structure, dynamic_rank, hedge, random_state
            As of `skfrontier.estimators.OutputResidualApproximator` ('adaptive' apart).
        n_probes, qr
            As of the class.

        Returns
        -------
        DynamicResidualLinear
            On the device and of the type of the layer.
        """
        if not isinstance(linear, nn.Linear):
            raise TypeError(f"linear must be a torch.nn.Linear, got {type(linear).__name__}.")
        W = _as_array(linear.weight).T
        groups = _groups_of(calibration, W.shape[0])
        fitted = approximate(
            W,
            groups,
            budget=check_budget(budget, W.shape),
            structure=structure,
            dynamic_rank=dynamic_rank,
            hedge=hedge,
        )
        layer = cls(
            linear.in_features,
            linear.out_features,
            fitted.split.rank,
            fitted.split.dynamic_rank,
            bias=linear.bias is not None,
            budget=budget,
            n_probes=n_probes,
            qr=qr,
            device=linear.weight.device,
            dtype=linear.weight.dtype,
        )
        layer._fill(fitted, linear.bias, random_state)
        layer.train(linear.training)
        return layer

    def _fill(self, fitted: Approximation, bias: Any, random_state: Any) -> None:
        omega = check_generator(random_state).standard_normal((self.out_features, self.n_probes))
        self.split = fitted.split
        values = {
            "left": fitted.factors.left,
            "right": fitted.factors.right,
            "residual": fitted.residual,
            "sketch": fitted.sketch,
            "probes": fitted.residual @ omega,
        }
        with torch.no_grad():
            for name, value in values.items():
                self.get_buffer(name).copy_(torch.from_numpy(np.ascontiguousarray(value)))
            if bias is not None:
                self.get_buffer("bias").copy_(bias)

    def rank_for(self, n: int) -> int:
        """Rank of the correction of groups of ``n`` tokens, which the budget may lower."""
        if n <= 1:
            return 0
        affordable = largest_dynamic_rank(
            n, self.in_features, self.out_features, self.rank, self.budget
        )
        return min(self.dynamic_rank, affordable)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Approximate ``x @ weight.T + bias``, the tokens of each leading index as one group."""
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            raise ValueError(
                f"x must have {self.in_features} features, got shape {tuple(x.shape)}."
            )
        X = x if x.ndim > 1 else x[None]
        sketch = self.get_buffer("sketch")[:, : self.rank_for(X.shape[-2])]
        probes = self.get_buffer("probes") if self.n_probes else None
        factors = LowRankFactors(self.get_buffer("left"), self.get_buffer("right"))
        product = corrected_product(
            X, self.get_buffer("residual"), factors, sketch, probes, self.qr
        )
        self.error = None if probes is None else _relative(product)
        output = product.output if self.bias is None else product.output + self.bias
        return output if x.ndim > 1 else output[0]

    def extra_repr(self) -> str:
        """Sizes and ranks."""
        return (
            f"{self.in_features}, {self.out_features}, rank={self.rank}, dynamic_rank={self.dynamic_rank}, "
            f"bias={self.bias is not None}, qr={self.qr!r}"
        )


def _relative(product: DynamicProduct) -> torch.Tensor:
    """Error over the norm of the output, which is taken from the approximate one and the error."""
    norm = torch.linalg.vector_norm(
        product.output.detach(), dim=(-2, -1), dtype=product.error.dtype
    )
    total = torch.hypot(norm, product.error)
    return product.error / torch.where(total > 0, total, torch.ones_like(total))


@dataclass(frozen=True)
class LayerReport:
    """What `replace_linear` did with one layer.

    Attributes
    ----------
    name : str
        Its name in the model.
    split : Split or None
        Structure, ranks, held-out error and cost ratio; None where the layer was left as it is.
    skipped : str
        Why it was left, or empty.
    """

    name: str
    split: Split | None
    skipped: str = ""


def replace_linear(
    model: nn.Module,
    calibration_loader: Iterable[Any],
    *,
    budget: float,
    include: Collection[str] | Callable[[str], bool] | None = None,
    **options: Any,
) -> list[LayerReport]:
    """Replace linear layers of a model, in place, by `DynamicResidualLinear`.

    Parameters
    ----------
    model : torch.nn.Module
        Changed in place.
    calibration_loader : iterable
        Batches: the input tensor, a tuple or list that begins with it, or a dict of keyword arguments.
        It is gone through once for every layer, so a generator that is used up after one round is refused.
    budget : float
        Share of each layer's multiply-adds.
    include : collection of names, callable or None, default=None
        Which layers, by name as in ``model.named_modules()``. None takes all.
    **options
        Given on to `DynamicResidualLinear.from_linear`.

    Returns
    -------
    list of LayerReport
        One for each chosen layer.

    Raises
    ------
    ValueError
        If ``include`` names what is no linear layer of the model, or nothing is left to replace.
    TypeError
        If the loader can be gone through only once.

    Notes
    -----
    Layers are replaced in the order of the model, and each is calibrated on the inputs that it will see,
    behind those replaced before it. The inputs of one layer at a time are held in memory. Only
    ``torch.nn.Linear`` itself is replaced, no subclass: attention modules read the weights of theirs
    directly. Layers that the budget cannot give rank one, and those that no batch reaches, are left and
    reported.

    References
    ----------
    Wang et al., *SVD-LLM*, arXiv:2403.07378, for calibration layer by layer.

    Examples
    --------
    >>> import torch
    >>> from skfrontier.nn import replace_linear
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8))
    >>> batches = [torch.randn(4, 50, 32) for _ in range(4)]
    >>> for report in replace_linear(model, batches, budget=0.5):
    ...     print(report.name, report.split.rank)
    0 5
    2 3
    """
    if iter(calibration_loader) is calibration_loader:
        raise TypeError(
            "calibration_loader is gone through once a layer; give a list or a DataLoader."
        )
    chosen = _chosen(model, include)
    reports = []
    training = {module: module.training for module in model.modules()}
    model.eval()
    try:
        for name, linear in chosen.items():
            report, layer = _calibrated(name, linear, model, calibration_loader, budget, options)
            reports.append(report)
            if layer is not None:
                _swap(model, linear, layer.train(training[linear]))
    finally:
        for module, mode in training.items():
            module.training = mode
    return reports


def _chosen(model: nn.Module, include: Any) -> dict[str, nn.Linear]:
    linear = {name: m for name, m in model.named_modules() if type(m) is nn.Linear}
    if include is not None and not callable(include):
        unknown = [name for name in include if name not in linear]
        if unknown:
            raise ValueError(
                f"include names {', '.join(map(repr, unknown))}, no linear layer of the model; there are "
                f"{', '.join(map(repr, linear)) or 'none'}."
            )
        linear = {name: linear[name] for name in linear if name in include}
    elif include is not None:
        linear = {name: m for name, m in linear.items() if include(name)}
    if not linear or "" in linear:
        raise ValueError("model holds no linear layer to replace (a bare Linear: use from_linear).")
    return linear


def _calibrated(
    name: str,
    linear: nn.Linear,
    model: nn.Module,
    loader: Iterable[Any],
    budget: float,
    options: Any,
) -> tuple[LayerReport, DynamicResidualLinear | None]:
    try:
        check_budget(budget, (linear.in_features, linear.out_features))
    except ValueError as error:
        return LayerReport(name, None, str(error)), None
    groups: list[torch.Tensor] = []
    hook = linear.register_forward_pre_hook(lambda _, inputs: groups.append(inputs[0].detach()))
    try:
        with torch.no_grad():
            for batch in loader:
                _call(model, batch)
    finally:
        hook.remove()
    if not groups:
        return LayerReport(name, None, "no calibration batch reaches it"), None
    layer = DynamicResidualLinear.from_linear(linear, groups, budget=budget, **options)
    return LayerReport(name, layer.split), layer


def _call(model: nn.Module, batch: Any) -> None:
    if isinstance(batch, dict):
        model(**batch)
    else:
        model(batch[0] if isinstance(batch, tuple | list) else batch)


def _swap(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Put ``new`` wherever the model holds ``old``."""
    for parent in model.modules():
        for name, child in list(parent._modules.items()):  # named_children skips repeats
            if child is old:
                setattr(parent, name, new)


def _groups_of(calibration: Any, n_inputs: int) -> list[np.ndarray]:
    batches = [calibration] if isinstance(calibration, torch.Tensor) else list(calibration)
    groups: list[np.ndarray] = []
    for batch in batches:
        if not isinstance(batch, torch.Tensor) or batch.ndim < 2 or batch.shape[-1] != n_inputs:
            found = tuple(batch.shape) if isinstance(batch, torch.Tensor) else type(batch).__name__
            raise ValueError(
                f"calibration must hold tensors of shape (..., n, {n_inputs}), got {found}."
            )
        groups.extend(_as_array(batch).reshape(-1, *batch.shape[-2:]))
    if not sum(map(len, groups)):
        raise ValueError("calibration holds no tokens.")
    if not all(np.isfinite(group).all() for group in groups):
        raise ValueError("calibration must be finite.")
    return groups


def _as_array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().to("cpu", torch.float64).numpy()
