"""What an interceptor is: a name, the pods that it cares for, and a function."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from vacate.admission.pods.interceptors import ALLOWED_KUBERNETES_NAMES, name_faults
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import SOFT
from vacate.errors import ConfigError
from vacate.sdk.leave import EvictionContext
from vacate.sdk.values import Cancellation, Outcome

Handler = Callable[[EvictionContext], Awaitable[Outcome | None]]
"""Called when it is the interceptor's turn. Returning None means finished."""

LONGEST_HEARTBEAT = dt.timedelta(minutes=3)
_BEATS_IN_A_DEADLINE = 10


@dataclass(frozen=True, slots=True)
class Interceptor:
    """One interceptor. Requests of pods that it does not match are left to others of the same name."""

    name: str
    handler: Handler
    # Which requests: those of one namespace, of pods with these labels, of the one pod with this uid.
    namespace: str = ""
    label_selector: str = ""
    pod_uid: str = ""
    # Asked with the pod before the handler is called; without it every pod is wanted.
    matches: Callable[[Pod], bool] | None = None
    # How many handlers run side by side. Requests beyond that wait their turn without a heartbeat.
    concurrency: int = 16
    # Between heartbeats: a tenth of the request's deadline, at most three minutes, unless said otherwise.
    heartbeat: dt.timedelta | None = None
    # A handler that neither reports nor calls `progress` for so long is no longer heartbeaten.
    progress_within: dt.timedelta | None = None
    # How often a handler that raises is called before the turn is passed on.
    attempts: int = 5
    # Written when the turn is taken on; None leaves what the interceptor before has set.
    cancellation: Cancellation | None = None
    # Requests of other types are declined.
    types: tuple[str, ...] = (SOFT,)
    # Names with the suffix k8s.io that this cluster allows beyond those of Kubernetes itself.
    allowed_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        allowed = (*ALLOWED_KUBERNETES_NAMES, *self.allowed_names)
        faults = name_faults(self.name, "name", allowed)
        if faults:
            raise ConfigError(f"interceptor {self.name!r}: {'; '.join(str(fault) for fault in faults)}")
        if not _is_async(self.handler):
            raise ConfigError(
                f"interceptor {self.name}: the handler must be an async function; "
                "vacate.sdk.sync.interceptor takes plain ones"
            )
        if self.concurrency < 1 or self.attempts < 1:
            raise ConfigError(f"interceptor {self.name}: concurrency and attempts must be at least 1")
        for what, span in (("heartbeat", self.heartbeat), ("progress_within", self.progress_within)):
            if span is not None and span <= dt.timedelta():
                raise ConfigError(f"interceptor {self.name}: {what} must be positive")

    def heartbeat_for(self, deadline: dt.timedelta) -> dt.timedelta:
        """How often to write a heartbeat to a request with that deadline; never less than twice in it."""
        if self.heartbeat is not None:
            return min(self.heartbeat, deadline / 2)
        return min(deadline / _BEATS_IN_A_DEADLINE, LONGEST_HEARTBEAT)


def interceptor(name: str, **options: Any) -> Callable[[Handler], Interceptor]:
    """`@interceptor("backup.example.com", label_selector="app=db")` above an async function."""

    def make(handler: Handler) -> Interceptor:
        return Interceptor(name, handler, **options)

    return make


def _is_async(handler: Any) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004  an object with an async call, or a bound method
    )
