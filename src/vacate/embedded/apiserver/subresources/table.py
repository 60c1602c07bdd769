"""Which subresources have verbs of their own; the others go the way of the object itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.subresources.binding import bind
from vacate.embedded.apiserver.subresources.eviction import evict
from vacate.embedded.apiserver.subresources.log import get_log
from vacate.embedded.apiserver.subresources.scale import get_scale, patch_scale, update_scale
from vacate.embedded.apiserver.subresources.token import issue_token
from vacate.wire.message import Response

Handler = Callable[[Storage, Call], Awaitable[Response]]

_SCALE: Mapping[str, Handler] = {"get": get_scale, "update": update_scale, "patch": patch_scale}

SUBRESOURCES: Mapping[tuple[str, str], Mapping[str, Handler]] = {
    ("pods", "eviction"): {"create": evict},
    ("pods", "binding"): {"create": bind},
    ("pods", "log"): {"get": get_log},
    ("serviceaccounts", "token"): {"create": issue_token},
    ("deployments", "scale"): _SCALE,
    ("replicasets", "scale"): _SCALE,
    ("statefulsets", "scale"): _SCALE,
}
"""By the kind's plural and the subresource's name: what each verb does."""
