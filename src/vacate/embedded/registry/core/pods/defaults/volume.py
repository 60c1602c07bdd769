"""What the author of a volume need not write, of the sources that a node writes."""

from __future__ import annotations

from vacate.api.objects import Obj

_FILE_MODE = 0o644


def default_volume(volume: Obj) -> None:
    """Defaults of a volume, by its source."""
    if not any(type(value) is dict for value in volume.values()):
        volume["emptyDir"] = {}
    for key in ("configMap", "secret", "downwardAPI", "projected"):
        if type(source := volume.get(key)) is dict:
            source.setdefault("defaultMode", _FILE_MODE)
    default_source(volume)


def default_source(volume: Obj) -> None:
    """Defaults of a source that pods and persistent volumes share."""
    if type(source := volume.get("hostPath")) is dict:
        source.setdefault("type", "")
