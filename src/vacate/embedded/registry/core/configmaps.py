"""ConfigMaps: keys that can be file names, one MiB at most, and for good once immutable."""

from __future__ import annotations

import binascii

from vacate.admission.checks import same
from vacate.admission.context import Context
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, too_long
from vacate.api.names import config_key
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, text

_LIMIT = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"


class ConfigMapStrategy(KindStrategy):
    """Answers for ConfigMaps."""

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Keys and size."""
        data, binary = mapping(obj.get("data")), mapping(obj.get("binaryData"))
        found: list[FieldError] = []
        for key in data:
            found += complaints(f"data[{key}]", key, config_key(key))
            if key in binary:
                found.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        for key in binary:
            found += complaints(f"binaryData[{key}]", key, config_key(key))
        if _size(data, binary) > _LIMIT:
            found.append(too_long("", _LIMIT))
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """What is immutable stays; then the whole again."""
        found = list(step)
        if old.get("immutable") is True:
            if new.get("immutable") is not True:
                found.append(forbidden("immutable", _FROZEN))
            found += [
                forbidden(key, _FROZEN)
                for key in ("data", "binaryData")
                if not same(new.get(key), old.get(key))
            ]
        return found + self.metadata_errors(new) + self.field_errors(new, ctx)


def _size(data: Obj, binary: Obj) -> int:
    total = sum(len(text(value).encode(errors="surrogatepass")) for value in data.values())
    return total + sum(_decoded_size(text(value)) for value in binary.values())


def _decoded_size(value: str) -> int:
    try:
        return len(binascii.a2b_base64(value))
    except ValueError:
        return len(value)
