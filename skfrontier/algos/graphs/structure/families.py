"""The families of conditional distributions a column may have."""

from typing import Any

import numpy as np

GAUSSIAN, BINARY, POISSON = 0, 1, 2
_CODES = {"gaussian": GAUSSIAN, "binary": BINARY, "ising": BINARY, "poisson": POISSON}


def family_codes(family: Any, n_columns: int) -> np.ndarray:
    """Code of each column, from one name for all or a name each.

    Raises
    ------
    ValueError
        If a name is unknown, or there is not one for each column.
    """
    if isinstance(family, str):
        if family not in _CODES:
            raise ValueError(f"family must be {_accepted()}; got {family!r}.")
        return np.full(n_columns, _CODES[family], dtype=np.int64)
    try:
        names = list(family)
    except TypeError:
        raise ValueError(f"family must be {_accepted()}; got {family!r}.") from None
    if len(names) != n_columns:
        raise ValueError(f"family has {len(names)} names, but there are {n_columns} columns.")
    for name in names:
        if not isinstance(name, str) or name not in _CODES:
            raise ValueError(f"family must be {_accepted()}; its list holds {name!r}.")
    return np.array([_CODES[name] for name in names], dtype=np.int64)


def _accepted() -> str:
    return "'gaussian', 'ising', 'poisson' or a list of 'gaussian', 'binary' and 'poisson'"


def response(column: np.ndarray, code: int, name: str) -> np.ndarray:
    """What a regression of a column predicts: 0/1 for binary columns, counts for Poisson ones.

    Raises
    ------
    ValueError
        If the values are none of the family's. A binary column may hold one value only.
    """
    if code == BINARY:
        values = np.unique(column)
        if not (np.isin(values, (-1, 1)).all() or np.isin(values, (0, 1)).all()):
            shown = ", ".join(f"{value:g}" for value in values[:5])
            raise ValueError(
                f"{name} must hold two values, -1 and 1 or 0 and 1, to be binary; it holds "
                f"{len(values)}: {shown}{', ...' if len(values) > 5 else ''}."
            )
        return (column > 0).astype(np.float64)
    if code == POISSON and (column.min() < 0 or np.any(column != np.floor(column))):
        raise ValueError(f"{name} must hold counts (integers >= 0) to be Poisson.")
    return column
