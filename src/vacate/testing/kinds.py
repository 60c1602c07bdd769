"""The kind of an object that a test creates."""

from __future__ import annotations

from vacate.api.kinds import Kind
from vacate.api.objects import Obj, dig
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.errors import ConfigError

_KINDS = {(kind.api_version, kind.kind): kind for kind in SERVED_KINDS}


def placed(obj: Obj) -> tuple[Kind, str]:
    """The object's kind, and the namespace in which it is created; ConfigError for other kinds."""
    kind = _KINDS.get((str(obj.get("apiVersion")), str(obj.get("kind"))))
    if kind is None:
        raise ConfigError(f"the embedded cluster serves no {obj.get('kind')} {obj.get('apiVersion')}")
    return kind, str(dig(obj, "metadata", "namespace") or "default") if kind.namespaced else ""
