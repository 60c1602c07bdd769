"""Tokens of service accounts: signed by this server's key, and valid while what they are bound to exists."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from vacate.api.identity import NODE_NAME_EXTRA, User, service_account_groups, service_account_user
from vacate.api.kinds import PODS, SERVICEACCOUNTS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.times import parse_time
from vacate.clock import PassiveClock
from vacate.entropy import Entropy

ISSUER = "https://kubernetes.default.svc.cluster.local"
"""Who issues them, and for whom they are unless they name other audiences."""
_HEADER = {"alg": "HS256", "typ": "JWT"}
_GRACE = dt.timedelta(seconds=60)
"""How long a token is good for after what it is bound to was to end, as in Kubernetes."""
_PREFIX = NODE_NAME_EXTRA.removesuffix("node-name")

Lookup = Callable[[Kind, str, str], Obj | None]


def new_token_key(entropy: Entropy) -> bytes:
    """A key that nobody can guess."""
    return f"{entropy.uid()}{entropy.uid()}".encode()


class AccountTokens:
    """JSON web tokens with the claims of Kubernetes. Only this server can check them: the key is its own."""

    def __init__(self, key: bytes, lookup: Lookup, clock: PassiveClock) -> None:
        self._key = key
        self._lookup = lookup
        self._clock = clock

    def issue(
        self, account: Obj, audiences: Sequence[str], seconds: int, bound: Mapping[str, Obj], identifier: str
    ) -> str:
        """A token of the account; `bound` has what it is bound to, by `pod` and `node`."""
        meta, now = account["metadata"], int(self._clock.now().timestamp())
        private = {"namespace": meta["namespace"], "serviceaccount": _reference(account)}
        claims = {
            "iss": ISSUER,
            "sub": service_account_user(meta["namespace"], meta["name"]),
            "aud": list(audiences),
            "iat": now,
            "nbf": now,
            "exp": now + seconds,
            "jti": identifier,
            "kubernetes.io": private | {key: _reference(obj) for key, obj in bound.items()},
        }
        text = f"{_encode(orjson.dumps(_HEADER))}.{_encode(orjson.dumps(claims))}"
        return f"{text}.{self._signature(text)}"

    def read(self, token: str) -> User | None:
        """Whose it is; None where it is none of ours, has expired, or what it is bound to is gone."""
        text, _, signature = token.rpartition(".")
        if not hmac.compare_digest(self._signature(text).encode(), signature.encode(errors="replace")):
            return None
        try:
            claims = orjson.loads(_decode(text.partition(".")[2]))
        except (ValueError, binascii.Error):  # pragma: no cover  signed by us, and so well-formed
            return None
        now = self._clock.now().timestamp()
        if ISSUER not in claims["aud"] or not claims["nbf"] <= now < claims["exp"]:
            return None
        private = claims["kubernetes.io"]
        namespace, account, pod = private["namespace"], private["serviceaccount"], private.get("pod")
        if not self._exists(SERVICEACCOUNTS, namespace, account):
            return None
        if pod is not None and not self._exists(PODS, namespace, pod):
            return None
        return User(
            service_account_user(namespace, account["name"]),
            service_account_groups(namespace),
            account["uid"],
            _extra(private, claims["jti"]),
        )

    def _exists(self, kind: Kind, namespace: str, reference: Obj) -> bool:
        found = self._lookup(kind, namespace, reference["name"])
        if found is None or found["metadata"]["uid"] != reference["uid"]:
            return False
        ends = found["metadata"].get("deletionTimestamp")
        return not ends or self._clock.now() < parse_time(ends) + _GRACE

    def _signature(self, text: str) -> str:
        return _encode(hmac.new(self._key, text.encode(errors="replace"), hashlib.sha256).digest())


def _extra(private: Mapping[str, Any], identifier: str) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {f"{_PREFIX}credential-id": (f"JTI={identifier}",)}
    for key in ("pod", "node"):
        if key in private:
            extra[f"{_PREFIX}{key}-name"] = (private[key]["name"],)
            extra[f"{_PREFIX}{key}-uid"] = (private[key]["uid"],)
    return extra


def _reference(obj: Obj) -> Obj:
    return {"name": str(dig(obj, "metadata", "name")), "uid": str(dig(obj, "metadata", "uid"))}


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
