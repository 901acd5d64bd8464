"""Toy laws of token sequences whose conditional marginals, mode and joint probabilities are exact."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from skfrontier.algos._validation import check_count, check_generator, check_interval

_NODE_LIMIT = 200_000
_IMPOSSIBLE = "x must have positive probability: the tokens given exclude each other."


@dataclass(frozen=True)
class TemplateSequenceModel:
    """Noisy copies of a few templates: a mixture of laws with independent positions.

    Attributes
    ----------
    templates : int64 array of shape (n_templates, length)
        The templates.
    weights : float64 array of shape (n_templates,)
        Their probabilities.
    noise : float
        Probability that a position differs from its template.
    n_tokens : int
        Size of the vocabulary.
    """

    templates: np.ndarray
    weights: np.ndarray
    noise: float
    n_tokens: int

    def marginals(self, x: Any) -> np.ndarray:
        """Probabilities of the tokens at each position, given those of ``x`` that are not -1.

        Parameters
        ----------
        x : int array-like of shape (length,)
            Tokens, -1 where masked.

        Returns
        -------
        ndarray of shape (length, n_tokens)
            Rows of given positions have all their mass on the token given.

        Raises
        ------
        ValueError
            If the given tokens have probability zero, as they can without noise.
        """
        x = _check_sequences(x, self.templates.shape[1], self.n_tokens, masked=True)
        given = x >= 0
        log_posterior = np.log(self.weights) + self._log_likelihoods(x[None], given)[0]
        if log_posterior.max() == -np.inf:
            raise ValueError(_IMPOSSIBLE)
        posterior = softmax(log_posterior)
        other = self.noise / (self.n_tokens - 1)
        result = np.full((len(x), self.n_tokens), other)
        for template, weight in zip(self.templates, posterior, strict=True):
            result[np.arange(len(x)), template] += weight * (1 - self.noise - other)
        return _with_given(result, x)

    def log_prob(self, x: Any) -> Any:
        """Natural logarithm of the joint probability of one sequence (length,) or many (n, length)."""
        x = _check_sequences(x, self.templates.shape[1], self.n_tokens)
        terms = np.log(self.weights) + self._log_likelihoods(np.atleast_2d(x))
        values = logsumexp(terms, axis=1)
        return values if x.ndim == 2 else float(values[0])

    def sample(self, n: int, *, random_state: Any = None) -> np.ndarray:
        """Draw ``n`` sequences, an int64 array of shape (n, length)."""
        n = check_count(n, "n", 0)
        rng = check_generator(random_state)
        x = self.templates[rng.choice(len(self.weights), n, p=self.weights)]
        shift = rng.integers(1, self.n_tokens, x.shape)
        return np.where(rng.random(x.shape) < self.noise, (x + shift) % self.n_tokens, x)

    def mode(self) -> np.ndarray:
        """The most probable sequence, found by branch and bound.

        Some template's token is best at each position, as no other token is likelier under any template;
        the bound lets every template agree with all that is still open.

        Raises
        ------
        ValueError
            If noise is so large that a token which no template has may be best.
        RuntimeError
            If the search is not finished after 200000 nodes; that takes large noise and a long sequence.
        """
        other = self.noise / (self.n_tokens - 1)
        if other > 1 - self.noise:
            raise ValueError(
                f"mode needs noise of at most (n_tokens - 1) / n_tokens, got {self.noise}."
            )
        choices = [np.unique(column) for column in self.templates.T]
        best = max(self.templates, key=self.log_prob)
        best_value = self.log_prob(best)
        length = len(choices)
        with np.errstate(divide="ignore"):
            hit, miss = np.log(1 - self.noise), np.log(other)
        # Depth first, the likeliest child first, so that good sequences are found early.
        stack: list[tuple[tuple[Any, ...], Any]] = [((), np.log(self.weights))]
        for _ in range(_NODE_LIMIT):
            if not stack:
                return np.array(best, dtype=np.int64)
            prefix, terms = stack.pop()
            depth = len(prefix)
            if logsumexp(terms) + (length - depth) * hit <= best_value:
                continue
            if depth == length:
                best, best_value = prefix, logsumexp(terms)
                continue
            children: list[tuple[tuple[Any, ...], Any]] = [
                (
                    (*prefix, token),
                    terms + np.where(self.templates[:, depth] == token, hit, miss),
                )
                for token in choices[depth]
            ]
            stack.extend(sorted(children, key=lambda child: logsumexp(child[1])))
        raise RuntimeError(f"The mode was not settled after {_NODE_LIMIT} nodes.")

    def _log_likelihoods(self, x: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
        """Log-probabilities of the rows of ``x`` at the counted positions, under each template."""
        counted = np.ones(x.shape[1], bool) if counted is None else counted
        hits = np.array([(x == t)[:, counted].sum(axis=1) for t in self.templates]).T
        misses = counted.sum() - hits
        # 0 log 0 = 0: a template without noise can be missed, but then no more be the one.
        with np.errstate(divide="ignore", invalid="ignore"):
            log_hit = np.log(1 - self.noise)
            log_miss = np.log(self.noise / (self.n_tokens - 1))
            return np.where(hits, hits * log_hit, 0) + np.where(misses, misses * log_miss, 0)


@dataclass(frozen=True)
class MarkovSequenceModel:
    """A Markov chain with evidence at each position: P(x) is proportional to start, transitions, evidence.

    Attributes
    ----------
    start : float64 array of shape (n_tokens,)
        Law of the first token.
    transition : float64 array of shape (n_tokens, n_tokens)
        Row: law of the next token.
    evidence : float64 array of shape (length, n_tokens)
        Weight of each token at each position.
    """

    start: np.ndarray
    transition: np.ndarray
    evidence: np.ndarray

    def marginals(self, x: Any) -> np.ndarray:
        """Probabilities of the tokens at each position, given those of ``x`` that are not -1.

        Parameters
        ----------
        x : int array-like of shape (length,)
            Tokens, -1 where masked.

        Returns
        -------
        ndarray of shape (length, n_tokens)
            By the forward-backward recursion.

        Raises
        ------
        ValueError
            If the given tokens have probability zero.
        """
        x = _check_sequences(x, *self.evidence.shape, masked=True)
        weights = _with_given(self.evidence, x, scale=True)
        forward, _ = self._forward(weights)
        result = np.empty_like(forward)
        backward = np.ones(len(self.start))
        for j in range(len(x) - 1, -1, -1):
            both = forward[j] * backward
            result[j] = both / both.sum()
            backward = self.transition @ (weights[j] * backward)
            backward /= backward.max()
        return result

    def log_prob(self, x: Any) -> Any:
        """Natural logarithm of the joint probability of one sequence (length,) or many (n, length)."""
        x = _check_sequences(x, *self.evidence.shape)
        many = np.atleast_2d(x)
        with np.errstate(divide="ignore"):
            values = np.log(self.start)[many[:, 0]]
            values = values + np.log(self.transition)[many[:, :-1], many[:, 1:]].sum(axis=1)
            values = values + np.log(self.evidence)[np.arange(many.shape[1]), many].sum(axis=1)
        values = values - self._forward(self.evidence)[1]
        return values if x.ndim == 2 else float(values[0])

    def sample(self, n: int, *, random_state: Any = None) -> np.ndarray:
        """Draw ``n`` sequences, an int64 array of shape (n, length): backwards from the forward pass."""
        n = check_count(n, "n", 0)
        rng = check_generator(random_state)
        forward, _ = self._forward(self.evidence)
        x = np.empty((n, len(forward)), np.int64)
        for j in range(len(forward) - 1, -1, -1):
            law = np.tile(forward[j], (n, 1))
            if j + 1 < len(forward):
                law *= self.transition.T[x[:, j + 1]]
            cumulative = law.cumsum(axis=1)
            threshold = rng.random((n, 1)) * cumulative[:, -1:]
            x[:, j] = (cumulative <= threshold).sum(axis=1)
        return x

    def mode(self) -> np.ndarray:
        """The most probable sequence, by the Viterbi recursion."""
        with np.errstate(divide="ignore"):
            step, unary = np.log(self.transition), np.log(self.evidence)
            value = np.log(self.start) + unary[0]
        came_from = np.empty(self.evidence.shape, np.int64)
        for j in range(1, len(unary)):
            paths = value[:, None] + step
            came_from[j] = paths.argmax(axis=0)
            value = paths.max(axis=0) + unary[j]
        x = np.empty(len(unary), np.int64)
        x[-1] = value.argmax()
        for j in range(len(unary) - 1, 0, -1):
            x[j - 1] = came_from[j, x[j]]
        return x

    def _forward(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Filtered laws, and the logarithm of the sum over all sequences."""
        forward = np.empty_like(weights)
        log_total = 0.0
        law = self.start
        for j, weight in enumerate(weights):
            law = law * weight
            total = law.sum()
            if not total > 0:
                raise ValueError(_IMPOSSIBLE)
            forward[j] = law / total
            log_total += float(np.log(total))
            law = forward[j] @ self.transition
        return forward, log_total


def make_template_sequences(
    n_templates: int,
    length: int,
    n_tokens: int,
    *,
    noise: float = 0.02,
    shared: float = 0.5,
    random_state: Any = None,
) -> TemplateSequenceModel:
    """Model of sequences that are noisy copies of a few templates.

    Parameters
    ----------
    n_templates, length : int
        How many templates, and how long.
    n_tokens : int
        Size of the vocabulary, at least 2.
    noise : float in [0, 1], default=0.02
        Probability that a position differs from its template; it is uniform over the other tokens then.
    shared : float in [0, 1], default=0.5
        Probability, for each template and position on its own, that the token is the common one.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the model.

    Returns
    -------
    TemplateSequenceModel
        With exact ``marginals(x)``, ``log_prob(x)``, ``sample(n)`` and ``mode()``.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Notes
    -----
    Weights of the templates are uniform on the simplex. Positions are independent given the template, so
    the marginals cost O(n_templates length).

    Examples
    --------
    >>> from skfrontier.datasets import make_template_sequences
    >>> model = make_template_sequences(3, 8, 5, random_state=0)
    >>> model.marginals([-1] * 8).shape
    (8, 5)
    >>> bool((model.log_prob(model.sample(100, random_state=0)) <= model.log_prob(model.mode())).all())
    True
    """
    n_templates = check_count(n_templates, "n_templates")
    length = check_count(length, "length")
    n_tokens = check_count(n_tokens, "n_tokens", 2)
    noise = check_interval(noise, "noise", 0.0, 1.0)
    shared = check_interval(shared, "shared", 0.0, 1.0)
    rng = check_generator(random_state)
    base = rng.integers(n_tokens, size=length)
    own = rng.integers(n_tokens, size=(n_templates, length))
    templates = np.where(rng.random((n_templates, length)) < shared, base, own)
    weights = rng.dirichlet(np.ones(n_templates))
    return TemplateSequenceModel(templates, weights, noise, n_tokens)


def make_markov_sequences(
    length: int,
    n_tokens: int,
    *,
    concentration: float = 0.3,
    evidence: float = 3.0,
    random_state: Any = None,
) -> MarkovSequenceModel:
    """Model of sequences from a Markov chain of which noisy evidence is seen.

    Parameters
    ----------
    length, n_tokens : int
        Length of the sequences and size of the vocabulary.
    concentration : float > 0, default=0.3
        Of the Dirichlet laws of the transitions (twice that of the start); small: nearly deterministic.
    evidence : float >= 0, default=3.0
        How strongly each position points at the token of one path that is drawn.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the model.

    Returns
    -------
    MarkovSequenceModel
        With exact ``marginals(x)``, ``log_prob(x)``, ``sample(n)`` and ``mode()``.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    Notes
    -----
    The evidence at a position is the softmax of standard normal numbers, with ``evidence`` times a
    uniform number added at the path's token. All recursions cost O(length n_tokens^2).

    Examples
    --------
    >>> from skfrontier.datasets import make_markov_sequences
    >>> model = make_markov_sequences(8, 5, random_state=0)
    >>> model.marginals([-1] * 8).sum(axis=1).round(12)
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    >>> bool((model.log_prob(model.sample(100, random_state=0)) <= model.log_prob(model.mode())).all())
    True
    """
    length = check_count(length, "length")
    n_tokens = check_count(n_tokens, "n_tokens")
    concentration = check_interval(concentration, "concentration", 0.0, np.inf, closed="neither")
    evidence = check_interval(evidence, "evidence", 0.0, np.inf, closed="left")
    rng = check_generator(random_state)
    start = rng.dirichlet(np.full(n_tokens, 2 * concentration))
    transition = rng.dirichlet(np.full(n_tokens, concentration), size=n_tokens)
    path = np.empty(length, np.int64)
    law = start
    for j in range(length):
        path[j] = rng.choice(n_tokens, p=law)
        law = transition[path[j]]
    logits = rng.standard_normal((length, n_tokens))
    logits[np.arange(length), path] += evidence * rng.random(length)
    return MarkovSequenceModel(start, transition, softmax(logits, axis=1))


def _with_given(laws: np.ndarray, x: np.ndarray, *, scale: bool = False) -> np.ndarray:
    """Copy of ``laws`` with zeros beside the given tokens, and with one at them unless ``scale``."""
    given = np.flatnonzero(x >= 0)
    result = laws.copy()
    result[given] = 0.0
    result[given, x[given]] = laws[given, x[given]] if scale else 1.0
    return result


def _check_sequences(x: Any, length: int, n_tokens: int, *, masked: bool = False) -> np.ndarray:
    array = np.asarray(x)
    if array.dtype.kind not in "iu":
        raise ValueError(f"x must hold integer tokens, got dtype {array.dtype}.")
    if array.shape[-1:] != (length,) or array.ndim > (1 if masked else 2):
        accepted = f"({length},)" if masked else f"({length},) or (n, {length})"
        raise ValueError(f"x must have shape {accepted}, got {array.shape}.")
    lowest = -1 if masked else 0
    if array.size and (array.min() < lowest or array.max() >= n_tokens):
        raise ValueError(
            f"x must hold tokens in {lowest}..{n_tokens - 1}, got {array.min()}..{array.max()}."
        )
    return array.astype(np.int64, copy=False)
