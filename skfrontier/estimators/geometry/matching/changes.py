"""A change of both sides, looked at as a whole before anything happens."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from skfrontier.estimators.geometry.matching.live_ids import LiveIds
from skfrontier.estimators.geometry.matching.point_kinds import VectorPoints


@dataclass(frozen=True)
class Change:
    """What comes and goes, by side (0 or 1); sides to which nothing happens are left out.

    Attributes
    ----------
    points : dict
        New points, as the kind of points checks them.
    names : dict
        Their ids.
    leaving : dict
        Ids of the points that go.
    """

    points: dict[int, Any]
    names: dict[int, list[Hashable]]
    leaving: dict[int, list[Hashable]]


def checked_change(
    kind: Any, live: tuple[LiveIds, LiveIds], points: dict, ids: dict, gone: dict
) -> Change:
    """Return the change, or raise where any part of it cannot be made."""
    leaving = {s: live[s].checked_known(gone[s], f"delete_{'ab'[s]}") for s in gone}
    checked = {s: kind.checked(new, "AB"[s]) for s, new in points.items()}
    if isinstance(kind, VectorPoints):
        widths = {rows.shape[1] for rows in checked.values()}
        if len(widths) > 1:
            raise ValueError(
                f"A and B must have the same number of features, got {sorted(widths)}."
            )
    names = {
        s: live[s].checked_new(ids.get(s), len(new), leaving.get(s, ()), f"ids_{'ab'[s]}")
        for s, new in checked.items()
    }
    for s in range(2):
        if s not in checked and ids.get(s) is not None and len(ids[s]):
            raise ValueError(f"ids_{'ab'[s]} are given, but no points for them.")
    return Change(checked, names, leaving)
