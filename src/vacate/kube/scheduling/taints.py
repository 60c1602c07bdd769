"""Which taints a pod puts up with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vacate.api.types import Taint, Toleration

HARD_EFFECTS = ("NoSchedule", "NoExecute")
"""The effects that keep a pod off a node, rather than only make the node less liked."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether this consent covers that mark: an empty key or effect covers every one."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def tolerated(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Whether any of the tolerations covers the taint."""
    return any(tolerates(one, taint) for one in tolerations)


def untolerated(
    tolerations: Sequence[Toleration], taints: Iterable[Taint], effects: Sequence[str]
) -> list[Taint]:
    """The taints with one of these effects that nothing covers."""
    return [taint for taint in taints if taint.effect in effects and not tolerated(tolerations, taint)]
