"""Classification with many classes: Gaussian clusters, and lines of the standard library's modules."""

import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

from skfrontier.algos._validation import check_count, check_interval


def make_many_classes(
    n_samples: int,
    n_features: int,
    n_classes: int,
    *,
    sep: float = 0.3,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian classes around random centres, with frequencies that fall like ``1 / sqrt(c + 1)``.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        ``n_samples`` at least ``n_classes``: every class occurs.
    sep : float, default=0.3
        Scale of the centres, whose coordinates are standard normal; the noise has standard deviation 1.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), int64

    Raises
    ------
    ValueError
        If there are fewer samples than classes, or fewer than two classes.

    Examples
    --------
    >>> from skfrontier.datasets import make_many_classes
    >>> X, y = make_many_classes(100, 20, 30, random_state=0)
    >>> X.shape, len(set(y.tolist()))
    ((100, 20), 30)
    """
    n_classes = check_count(n_classes, "n_classes", 2)
    n_samples = check_count(n_samples, "n_samples", n_classes)
    n_features = check_count(n_features, "n_features")
    sep = check_interval(sep, "sep", 0.0, np.inf, closed="left")
    rng = (
        random_state
        if isinstance(random_state, np.random.RandomState)
        else np.random.RandomState(random_state)
    )
    centres = rng.standard_normal((n_classes, n_features))
    p = np.arange(1, n_classes + 1) ** -0.5
    others = rng.choice(n_classes, n_samples - n_classes, p=p / p.sum())
    y = np.concatenate([np.arange(n_classes), others]).astype(np.int64)
    return sep * centres[y] + rng.standard_normal((n_samples, n_features)), y


def load_module_lines(
    n_modules: int = 120,
    rows_per_module: int = 8,
    n_features: int = 2048,
    *,
    lines_per_row: int = 6,
    dense: bool = True,
) -> tuple[Any, np.ndarray, list[str]]:
    """Which module of Python's standard library do lines come from? Hashed character n-grams.

    Parameters
    ----------
    n_modules : int, default=120
        Classes: the modules that are single files and long enough, in alphabetical order.
    rows_per_module : int, default=8
        Samples of a class, spread evenly over its file.
    n_features : int, default=2048
        Hash buckets.
    lines_per_row : int, default=6
        Lines of code, blank ones left out, that make a sample.
    dense : bool, default=True
        Dense rows, or a CSR matrix.

    Returns
    -------
    X : ndarray or CSR matrix of shape (n_modules * rows_per_module, n_features)
        Signed counts of the 2- to 4-grams within words, each row of Euclidean length 1.
    y : ndarray of shape (n_modules * rows_per_module,), int64
    names : list of str
        Module names by class.

    Raises
    ------
    OSError
        If this Python comes without the sources of its library, or has fewer such modules.

    Notes
    -----
    The text is that of the running Python, so rows differ a little between its versions.

    Examples
    --------
    >>> from skfrontier.datasets import load_module_lines
    >>> X, y, names = load_module_lines(5, 4, 256)
    >>> X.shape, len(names)
    ((20, 256), 5)
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    n_modules = check_count(n_modules, "n_modules", 2)
    rows_per_module = check_count(rows_per_module, "rows_per_module")
    n_features = check_count(n_features, "n_features")
    lines_per_row = check_count(lines_per_row, "lines_per_row")
    texts: list[str] = []
    names: list[str] = []
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        rows = _rows_of(file, rows_per_module, lines_per_row)
        if rows:
            names.append(file.stem)
            texts += rows
        if len(names) == n_modules:
            break
    if len(names) < n_modules:
        raise OSError(
            f"The sources of Python's library have {len(names)} modules that are long enough, "
            f"{n_modules} are asked for: lower n_modules or rows_per_module."
        )
    hashing = HashingVectorizer(n_features=n_features, analyzer="char_wb", ngram_range=(2, 4))
    X = hashing.transform(texts)
    y = np.repeat(np.arange(n_modules, dtype=np.int64), rows_per_module)
    return (X.toarray() if dense else X), y, names


def _rows_of(file: Path, n_rows: int, n_lines: int) -> list[str]:
    """``n_rows`` pieces of ``n_lines`` lines, evenly over the file; none where it is too short."""
    text = file.read_text(encoding="utf-8", errors="ignore").splitlines()
    lines = [line.strip() for line in text if line.strip()]
    if len(lines) < n_rows * n_lines:
        return []
    starts = np.linspace(0, len(lines) - n_lines, n_rows).astype(int)
    return ["\n".join(lines[s : s + n_lines]) for s in starts]
