"""The torch twin of the delta rule, on any device and differentiable, and the layer `DeltaNet`."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from skfrontier.algos._validation import check_choice, check_count, check_flag
from skfrontier.algos.neural.delta_rule.inputs import (
    growth_limit,
    refuse_growth,
    warn_of_growing_state,
)
from skfrontier.algos.neural.delta_rule.matrix import FORGOTTEN
from skfrontier.algos.neural.delta_rule.options import NORM_EPS, Options
from skfrontier.algos.neural.triangular_inversion.nn import HALF, inverse, without_autocast
from skfrontier.algos.neural.triangular_inversion.settings import METHODS as INVERSIONS
from skfrontier.algos.neural.triangular_inversion.settings import Settings

Memory = tuple[torch.Tensor, torch.Tensor]


def check_values(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor | None,
    initial_state: torch.Tensor | None,
    *,
    l2norm: bool,
) -> None:
    """As for arrays; all questions are put to the device at once, and none to a meta tensor."""
    if q.is_meta:
        return
    named = {"q": q, "k": k, "v": v, "beta": beta, "initial_state": initial_state}
    given = {name: tensor.detach() for name, tensor in named.items() if tensor is not None}
    # A sum is one pass without a temporary; only where it is not finite a second look is needed.
    questions = [torch.isfinite(tensor.sum(dtype=torch.float64)) for tensor in given.values()]
    squares = torch.ones_like(k[..., 0]) if l2norm else k.detach().float().square().sum(-1)
    group = beta.shape[2] // k.shape[2]
    strength = beta.detach() * squares.repeat_interleave(group, dim=2)
    shrinks = (strength >= 0) & (strength <= growth_limit(torch.finfo(k.dtype).eps))
    questions.append(shrinks.all())
    if g is not None:
        questions.append((g.detach() <= 0).all())
    answers = torch.stack(questions).tolist()
    for (name, tensor), finite in zip(given.items(), answers, strict=False):
        if not finite and not torch.isfinite(tensor).all():
            raise ValueError(f"{name} must be finite, but holds NaN or infinity.")
    if g is not None and not answers[-1]:
        refuse_growth(float(g.detach()[~(g.detach() <= 0)][0]))
    if not answers[len(given)]:
        warn_of_growing_state()


def delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor | None,
    state: torch.Tensor | None,
    options: Options,
) -> Memory:
    """Output and final state of checked tensors; nothing here makes the host wait."""
    given = q.dtype
    work = torch.float32 if given in HALF else given
    q, k, v, beta = (x.to(work) for x in (q, k, v, beta))
    if options.l2norm:
        q, k = _normalised(q), _normalised(k)
    B, T, HV, V = v.shape
    group = HV // q.shape[2]
    q = q.repeat_interleave(group, dim=2) * options.scale
    k = k.repeat_interleave(group, dim=2)
    S = v.new_zeros(B, HV, q.shape[3], V) if state is None else state.to(work)
    if v.numel() == 0:
        return v.to(given), S.clone()
    one_by_one = options.method == "recurrent" or (options.method == "auto" and T == 1)
    with without_autocast(v):
        if one_by_one:
            output, S = _by_tokens(q, k, v, beta, g, S)
        else:
            output, S = _by_chunks(q, k, v, beta, g, S, options)
    return output.to(given), S


def _by_tokens(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor | None,
    S: torch.Tensor,
) -> Memory:
    outputs = []
    decay = None if g is None else g.double().clamp(min=FORGOTTEN).exp().to(v.dtype)
    for t in range(v.shape[1]):
        if decay is not None:
            S = S * decay[:, t, :, None, None]
        recalled = (k[:, t, :, None, :] @ S).squeeze(-2)
        u = beta[:, t, :, None] * (v[:, t] - recalled)
        S = S + k[:, t, :, :, None] * u[..., None, :]
        outputs.append((q[:, t, :, None, :] @ S).squeeze(-2))
    return torch.stack(outputs, dim=1), S


def _by_chunks(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor | None,
    S: torch.Tensor,
    options: Options,
) -> Memory:
    """What does not depend on the state for all chunks at once, then chunk after chunk."""
    T = v.shape[1]
    C = min(options.chunk_size, T)
    Q, K, values = (_chunked(x, C) for x in (q, k, v))
    strengths = _chunked(beta.unsqueeze(-1), C)
    G = None if g is None else cumulative_decay(_chunked(g.unsqueeze(-1), C).squeeze(-1))
    E = None if G is None else decay_between(G, v.dtype)
    L = chunk_matrix(K, strengths.squeeze(-1), E)
    T_inverse = inverse(L, Settings(method=options.inversion))
    attention = Q @ K.mT
    recalled_keys = kept_keys = K
    last = None
    if E is not None:
        attention = attention * E
    if G is not None:
        since_start = G.exp().to(v.dtype).unsqueeze(-1)
        recalled_keys, Q = since_start * K, since_start * Q
        kept_keys = (G[..., -1:] - G).exp().to(v.dtype).unsqueeze(-1) * K
        last = since_start[..., -1:, :]
    attention = attention.tril()
    fresh = T_inverse @ (strengths * values)
    erased = T_inverse @ (strengths * recalled_keys)
    outputs = []
    for chunk in range(L.shape[2]):
        U = fresh[:, :, chunk] - erased[:, :, chunk] @ S
        outputs.append(Q[:, :, chunk] @ S + attention[:, :, chunk] @ U)
        S = S if last is None else S * last[:, :, chunk]
        S = S + kept_keys[:, :, chunk].mT @ U
    output = torch.stack(outputs, dim=2).flatten(2, 3)[:, :, :T]
    return output.transpose(1, 2).contiguous(), S


def _chunked(x: torch.Tensor, C: int) -> torch.Tensor:
    """(B, T, heads, d) as (B, heads, chunks, C, d); missing tokens at the end are zero."""
    padded = F.pad(x, (0, 0, 0, 0, 0, -x.shape[1] % C))
    return padded.transpose(1, 2).unflatten(2, (-1, C))


def cumulative_decay(g: torch.Tensor) -> torch.Tensor:
    """Sums of the log-decays up to and including each token, in float64."""
    return g.double().clamp(min=FORGOTTEN).cumsum(-1)


def decay_between(G: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """exp(G_i - G_j) for i >= j, and one above the diagonal, where it would overflow."""
    return (G.unsqueeze(-1) - G.unsqueeze(-2)).to(dtype).clamp(max=0.0).exp()


def decay_of(g: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    """Decays between the tokens of a chunk; None where there are none."""
    return None if g is None else decay_between(cumulative_decay(g), dtype)


def chunk_matrix(k: torch.Tensor, beta: torch.Tensor, E: torch.Tensor | None) -> torch.Tensor:
    """L of the delta rule from keys (..., n, K), strengths (..., n) and decays between tokens."""
    L = beta.unsqueeze(-1) * (k @ k.mT)
    return (L if E is None else L * E).tril(-1)


def inverse_bound(k: torch.Tensor, beta: torch.Tensor, E: torch.Tensor | None) -> torch.Tensor:
    """Bound on the entries of the inverse of I + L."""
    norms = k.norm(dim=-1)
    bound = (beta * norms).unsqueeze(-1) * norms.unsqueeze(-2)
    if E is not None:
        bound = bound * E
    return bound.tril(-1) + torch.eye(k.shape[-2], dtype=k.dtype, device=k.device)


def _normalised(x: torch.Tensor) -> torch.Tensor:
    return x * (x.square().sum(-1, keepdim=True) + NORM_EPS).rsqrt()


@dataclass(frozen=True)
class DeltaNetState:
    """What a `DeltaNet` layer must remember between calls.

    Attributes
    ----------
    memory : Tensor of shape (B, n_heads, head_dim, head_dim)
        The memories of the delta rule.
    recent : Tensor of shape (B, 3 n_heads head_dim, conv_size - 1)
        What the convolution still needs of the last tokens.
    """

    memory: torch.Tensor
    recent: torch.Tensor

    def detach(self) -> "DeltaNetState":
        """The same state without its history, where gradients shall end."""
        return DeltaNetState(self.memory.detach(), self.recent.detach())


class DeltaNet(nn.Module):
    """Linear attention layer with the delta rule; gated, it is Gated DeltaNet.

    Parameters
    ----------
    d_model : int
        Size of the tokens' vectors.
    n_heads : int
        Number of heads, each with a memory of ``head_dim`` x ``head_dim``.
    head_dim : int or None, default=None
        None is ``d_model / n_heads``.
    gated : bool, default=False
        Whether memories decay, by a factor that depends on the token.
    conv_size : int, default=4
        Tokens that the causal convolution of queries, keys and values sees.
    chunk_size : int, default=64
        Tokens of a chunk, see :func:`skfrontier.algos.delta_rule`.
    inversion : str, default='auto'
        See :func:`skfrontier.algos.delta_rule`.

    Attributes
    ----------
    projection : Linear
        Queries, keys and values, in this order.
    convolution : Conv1d
        Causal, one filter a channel; followed by SiLU.
    strength : Linear
        Logits of beta, one a head.
    decay : Linear
        Only with ``gated``: g = -exp(``log_rate``) softplus(decay(x) + ``decay_bias``).
    norm_weight : Parameter of shape (head_dim,)
        Scales the outputs of all heads after they were divided by their root mean square.
    output : Linear
        Back to ``d_model``.

    Raises
    ------
    ValueError
        If a size is not positive, ``n_heads`` does not divide ``d_model`` while ``head_dim`` is None, or
        an option is unknown.

    Notes
    -----
    Queries and keys are normalised and beta lies in (0, 1), so memories cannot run away (proven: before a
    value is written, what is there is multiplied by a matrix of norm at most one). Passing the state on,
    token by token or in pieces of any size, gives what one call on all tokens gives, up to rounding. A call
    makes the host wait only where ``inversion`` is guarded.

    References
    ----------
    .. [1] Yang et al., NeurIPS 2024, arXiv:2406.06484.
    .. [2] Yang, Kautz, Hatamizadeh, ICLR 2025, arXiv:2412.06464.

    Examples
    --------
    >>> import torch
    >>> from skfrontier.nn import DeltaNet
    >>> layer = DeltaNet(16, n_heads=2)
    >>> x = torch.randn(3, 10, 16)
    >>> y, state = layer(x)
    >>> first, state = layer(x[:, :6])
    >>> second, state = layer(x[:, 6:], state)
    >>> torch.allclose(torch.cat([first, second], dim=1), y, atol=1e-5)
    True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        head_dim: int | None = None,
        gated: bool = False,
        conv_size: int = 4,
        chunk_size: int = 64,
        inversion: str = "auto",
    ) -> None:
        super().__init__()
        self.d_model = check_count(d_model, "d_model")
        self.n_heads = check_count(n_heads, "n_heads")
        self.head_dim = _head_dim(self.d_model, self.n_heads, head_dim)
        self.gated = check_flag(gated, "gated")
        self.conv_size = check_count(conv_size, "conv_size")
        self.chunk_size = check_count(chunk_size, "chunk_size")
        self.inversion = check_choice(inversion, "inversion", INVERSIONS)
        width = self.n_heads * self.head_dim
        self.projection = nn.Linear(self.d_model, 3 * width, bias=False)
        self.convolution = nn.Conv1d(
            3 * width, 3 * width, self.conv_size, groups=3 * width, bias=False
        )
        self.strength = nn.Linear(self.d_model, self.n_heads, bias=False)
        if self.gated:
            self.decay = nn.Linear(self.d_model, self.n_heads, bias=False)
            self.log_rate = nn.Parameter(torch.empty(self.n_heads).uniform_(1.0, 16.0).log())
            self.decay_bias = nn.Parameter(_inverse_softplus(_start_times(self.n_heads)))
        self.norm_weight = nn.Parameter(torch.ones(self.head_dim))
        self.output = nn.Linear(width, self.d_model, bias=False)

    def forward(
        self, x: torch.Tensor, state: DeltaNetState | None = None
    ) -> tuple[torch.Tensor, DeltaNetState]:
        """Outputs of the tokens, and the state after the last of them.

        Parameters
        ----------
        x : Tensor of shape (B, T, d_model)
            The tokens' vectors.
        state : DeltaNetState or None, default=None
            State after the tokens before; None at the beginning.

        Returns
        -------
        y : Tensor of shape (B, T, d_model)
            Outputs.
        state : DeltaNetState
            For the tokens that follow.

        Raises
        ------
        ValueError
            If the shape of ``x`` is another, or the state is of another layer or number of sequences.
        TypeError
            If ``state`` is no `DeltaNetState`.
        """
        if x.dim() != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x must have shape (B, T, {self.d_model}), got {tuple(x.shape)}.")
        if state is not None:
            self._check_state(state, len(x))
        mixed, recent = self._convolved(self.projection(x), None if state is None else state.recent)
        q, k, v = (
            part.unflatten(-1, (self.n_heads, self.head_dim)) for part in mixed.chunk(3, dim=-1)
        )
        beta = torch.sigmoid(self.strength(x)).to(q.dtype)
        options = Options(
            self.head_dim**-0.5, self.chunk_size, inversion=self.inversion, l2norm=True
        )
        memory = None if state is None else state.memory
        read, memory = delta_rule(q, k, v, beta, self._log_decay(x), memory, options)
        y = self.output((self._rms_normalised(read)).flatten(-2))
        return y, DeltaNetState(memory, recent)

    def _check_state(self, state: DeltaNetState, n_sequences: int) -> None:
        if not isinstance(state, DeltaNetState):
            raise TypeError(
                f"state must be the DeltaNetState of an earlier call, got {type(state).__name__}."
            )
        expected = {
            "memory": (n_sequences, self.n_heads, self.head_dim, self.head_dim),
            "recent": (n_sequences, 3 * self.n_heads * self.head_dim, self.conv_size - 1),
        }
        for name, shape in expected.items():
            given = tuple(getattr(state, name).shape)
            if given != shape:
                raise ValueError(f"state.{name} must have shape {shape} for this x, got {given}.")

    def _convolved(
        self, channels: torch.Tensor, recent: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        channels = channels.mT
        if recent is None:
            recent = channels.new_zeros(*channels.shape[:2], self.conv_size - 1)
        channels = torch.cat([recent, channels], dim=-1)
        # A copy: a view would keep all tokens of the call in memory, and in a saved state.
        kept = channels[..., channels.shape[-1] - (self.conv_size - 1) :].clone()
        if channels.shape[-1] < self.conv_size:  # no new token
            return channels.new_zeros(len(channels), 0, channels.shape[1]), kept
        return F.silu(self.convolution(channels)).mT, kept

    def _log_decay(self, x: torch.Tensor) -> torch.Tensor | None:
        if not self.gated:
            return None
        return -_wide(self.log_rate).exp() * F.softplus(
            _wide(self.decay(x)) + _wide(self.decay_bias)
        )

    def _rms_normalised(self, y: torch.Tensor) -> torch.Tensor:
        wide = _wide(y)
        scale = (wide.square().mean(-1, keepdim=True) + NORM_EPS).rsqrt()
        return (wide * scale).to(y.dtype) * self.norm_weight

    def extra_repr(self) -> str:
        """Sizes, for ``print``."""
        return f"d_model={self.d_model}, n_heads={self.n_heads}, head_dim={self.head_dim}, gated={self.gated}"


def _wide(x: torch.Tensor) -> torch.Tensor:
    """Half precision in single precision, the others as they are."""
    return x.float() if x.dtype in HALF else x


def _head_dim(d_model: int, n_heads: int, head_dim: int | None) -> int:
    if head_dim is not None:
        return check_count(head_dim, "head_dim")
    if d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model={d_model}, got {n_heads}; or give head_dim.")
    return d_model // n_heads


def _start_times(n: int) -> torch.Tensor:
    """Times between 0.001 and 0.1, even on a logarithmic scale."""
    return torch.empty(n).uniform_(math.log(1e-3), math.log(1e-1)).exp()


def _inverse_softplus(y: torch.Tensor) -> torch.Tensor:
    return y + torch.log(-torch.expm1(-y))
