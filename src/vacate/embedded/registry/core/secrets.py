"""Secrets: texts become data, each type has its keys, one MiB at most, and for good once immutable."""

from __future__ import annotations

import base64
import json

from vacate.admission.checks import same
from vacate.admission.context import Context
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, required, too_long
from vacate.api.lenient import mapping, text
from vacate.api.names import config_key
from vacate.api.objects import Obj, dig

_LIMIT = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_OPAQUE = "Opaque"
_ACCOUNT = "kubernetes.io/service-account.name"
_KEYS = {"kubernetes.io/ssh-auth": ("ssh-privatekey",), "kubernetes.io/tls": ("tls.crt", "tls.key")}
_JSON = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


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
        """Keys, size, and what the type demands."""
        data = mapping(obj.get("data"))
        found = [one for key in data for one in complaints(f"data[{key}]", key, config_key(key))]
        decoded = {key: base64.b64decode(text(value)) for key, value in data.items()}
        if sum(map(len, decoded.values())) > _LIMIT:
            found.append(too_long("data", _LIMIT))
        return found + _type_errors(obj, decoded)

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


def _type_errors(secret: Obj, data: dict[str, bytes]) -> list[FieldError]:
    kind = text(secret.get("type"))
    if kind == "kubernetes.io/service-account-token":
        account = text(dig(secret, "metadata", "annotations", _ACCOUNT))
        return [] if account else [required(f"metadata.annotations[{_ACCOUNT}]")]
    if kind == "kubernetes.io/basic-auth":
        missing = "username" not in data and "password" not in data
        return [required("data[username]"), required("data[password]")] if missing else []
    if kind in _JSON:
        return _json_errors(_JSON[kind], data)
    return [required(f"data[{key}]") for key in _KEYS.get(kind, ()) if key not in data]


def _json_errors(key: str, data: dict[str, bytes]) -> list[FieldError]:
    if key not in data:
        return [required(f"data[{key}]")]
    try:
        json.loads(data[key])
    except ValueError as error:
        return [invalid(f"data[{key}]", "<secret contents redacted>", str(error))]
    return []
