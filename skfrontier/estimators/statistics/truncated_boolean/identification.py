"""How the estimators say that the data cannot tell some parameters."""

import warnings

import numpy as np

from skfrontier.algos.statistics.truncated_boolean.scores import identified_coordinates

_NAMED = 10


class NotIdentifiedWarning(UserWarning):
    """Some natural parameters cannot be told from the data; their standard error is infinite."""


class NotIdentifiedError(ValueError):
    """Some natural parameters cannot be told from the data, and ``unidentified='raise'``."""


def report_unidentified(
    null_space: np.ndarray, how: str, set_at_fault: bool | None, moves: str
) -> None:
    """Warn, raise or say nothing about parameters that are not identified."""
    unknown = np.flatnonzero(~identified_coordinates(null_space))
    if not len(unknown) or how == "ignore":
        return
    named = ", ".join(map(str, unknown[:_NAMED])) + (", ..." if len(unknown) > _NAMED else "")
    q = null_space.shape[1]
    message = (
        f"{len(unknown)} of {len(null_space)} natural parameters are not identified (features {named}): "
        f"{q} direction{'s' if q > 1 else ''} of null_space_ can be added without any change. "
        + _reason(set_at_fault, moves)
    )
    if how == "raise":
        raise NotIdentifiedError(message)
    warnings.warn(message, NotIdentifiedWarning, stacklevel=3)


def _reason(set_at_fault: bool | None, moves: str) -> str:
    if set_at_fault:
        return "The truncation set is at fault: no data from it can tell them."
    if set_at_fault is None:
        return (
            f"Moves {moves!r} do not see them in these data; whether the truncation set allows more is not "
            "known. Try moves=3, or method='mle' where the set has an exact mean."
        )
    return (
        f"The moves {moves!r} are at fault, not the truncation set: try larger moves (moves='pairs', 3 "
        "or 4) or method='mle', which uses all that the set allows."
    )
