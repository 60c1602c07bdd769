"""Secrets: texts become data, one MiB at most, and for good once immutable."""

from __future__ import annotations

import base64

from vacate.admission.checks import same
from vacate.admission.context import Context
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, too_long
from vacate.api.names import config_key
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, text

_LIMIT = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_OPAQUE = "Opaque"


class SecretStrategy(KindStrategy):
    """Answers for Secrets."""

    def default(self, obj: Obj, ctx: Context) -> None:
        """Opaque, unless it says otherwise; texts are encoded, and never shown again."""
        texts = mapping(obj.pop("stringData", None))
        if texts:
            encoded = {key: base64.b64encode(text(value).encode()).decode() for key, value in texts.items()}
            obj["data"] = {**mapping(obj.get("data")), **encoded}
        obj["type"] = obj.get("type") or _OPAQUE

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Keys and size; what a type demands nobody reads."""
        data = mapping(obj.get("data"))
        found = [one for key in data for one in complaints(f"data[{key}]", key, config_key(key))]
        if sum(len(base64.b64decode(text(value))) for value in data.values()) > _LIMIT:
            found.append(too_long("data", _LIMIT))
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The type stays, and what is immutable; then the whole again."""
        found = list(step)
        if new.get("type") != old.get("type"):
            found.append(invalid("type", new.get("type"), "field is immutable"))
        if old.get("immutable") is True:
            if new.get("immutable") is not True:
                found.append(forbidden("immutable", _FROZEN))
            if not same(new.get("data"), old.get("data")):
                found.append(forbidden("data", _FROZEN))
        return found + self.metadata_errors(new) + self.field_errors(new, ctx)
