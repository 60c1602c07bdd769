"""What an interceptor is: a name, the pods that it cares for, and a function."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from vacate.admission.pods.interceptors import ALLOWED_KUBERNETES_NAMES
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import SOFT
from vacate.api.types.lifecycle import participant_errors
from vacate.errors import ConfigError
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import DIALECT_NAMES, dialect_named
from vacate.eviction.registration import name_errors
from vacate.sdk.arguments import (
    checked_namespace,
    checked_policy,
    checked_selector,
    checked_span,
    is_async,
    plain_function,
    texts,
    whole_number,
)
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import Cancellation, OnFailure, Outcome

Handler = Callable[[EvictionContext], Awaitable[Outcome | None]]
"""Called when it is the interceptor's turn. Returning None means finished."""

DEFAULT_PROGRESS_WITHIN = dt.timedelta(hours=1)
MAX_HEARTBEAT_INTERVAL = dt.timedelta(minutes=3)
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
    # Between heartbeats: a tenth of the request's deadline, at most three minutes, unless set otherwise.
    heartbeat: dt.timedelta | None = None
    # A handler that neither reports nor calls `progress` for so long is no longer heartbeaten. The default
    # waits for the finish that the handler expects, where that is later. None: it may hang for ever.
    progress_within: dt.timedelta | None = DEFAULT_PROGRESS_WITHIN
    # How often a handler that raises is called before the turn has failed, and what becomes of it then.
    attempts: int = 5
    on_failure: OnFailure = OnFailure.HAND_OVER
    # Written when the turn is taken on; None leaves what the interceptor before has set.
    cancellation: Cancellation | None = None
    # Requests of other types are declined.
    types: tuple[str, ...] = (SOFT,)
    # The APIs whose requests are served, by the same handler: evictionrequest, evacuation, lifecycle. In the
    # last, names are keys of domains: backup.example.com is example.com/backup there, unless a key is given.
    apis: tuple[str, ...] = (EVICTION_REQUEST.kind.singular,)
    # Names with the suffix k8s.io that this cluster allows beyond those of Kubernetes itself.
    allowed_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        allowed = (*ALLOWED_KUBERNETES_NAMES, *self.allowed_names)
        found = participant_errors("name", self.name) if "/" in self.name else None
        field_errors = name_errors(self.name, "name", allowed) if found is None else found
        if field_errors:
            raise ConfigError(
                f"interceptor {self.name!r}: {'; '.join(str(field_error) for field_error in field_errors)}"
            )
        try:
            self._check_options()
        except ConfigError as error:
            raise ConfigError(f"interceptor {self.name}: {error}") from None

    def _check_options(self) -> None:
        if not is_async(self.handler):
            raise ConfigError(
                "the handler must be an async function; vacate.sdk.sync.interceptor takes plain ones"
            )
        checked_namespace("namespace", self.namespace)
        checked_selector(self.label_selector)
        plain_function("matches", self.matches)
        whole_number("concurrency", self.concurrency, 1)
        whole_number("attempts", self.attempts, 1)
        checked_span("heartbeat", self.heartbeat)
        checked_span("progress_within", self.progress_within)
        checked_policy(self.cancellation)
        if self.on_failure not in tuple(OnFailure):
            raise ConfigError(f"on_failure must be HandOver or Hold, not {self.on_failure!r}")
        texts("types", self.types)
        texts("allowed_names", self.allowed_names)
        texts("apis", self.apis)
        for api in self.apis:
            if api not in DIALECT_NAMES:
                raise ConfigError(f"there is no API {api!r}; apis may name {' and '.join(DIALECT_NAMES)}")
            if self.cancellation == Cancellation.FORBID and not dialect_named(api).can_forbid:
                raise ConfigError(f"cancellation cannot be forbidden by the API {api}: leave it out")
        if not self.apis:
            raise ConfigError(f"apis is empty; name {' or '.join(DIALECT_NAMES)}")

    @property
    def described(self) -> str:
        """The interceptor and the pods that it serves, in one line."""
        where = f"namespace {self.namespace}" if self.namespace else "all namespaces"
        which = [f"pods with labels {self.label_selector}"] if self.label_selector else []
        which += [f"the pod with uid {self.pod_uid}"] if self.pod_uid else []
        return f"{self.name} in {where}, for {' and '.join(which) or 'all pods that name it'}"

    def heartbeat_for(self, deadline: dt.timedelta) -> dt.timedelta:
        """How often to write a heartbeat to a request with that deadline; never less than twice in it."""
        if self.heartbeat is not None:
            return min(self.heartbeat, deadline / 2)
        return min(deadline / _BEATS_IN_A_DEADLINE, MAX_HEARTBEAT_INTERVAL)


def interceptor(name: str, **options: Any) -> Callable[[Handler], Interceptor]:
    """`@interceptor("backup.example.com", label_selector="app=db")` above an async function."""
    check_decoration(name, options)

    def make(handler: Handler) -> Interceptor:
        return Interceptor(name, handler, **options)

    return make


def check_decoration(name: Any, options: Mapping[str, Any]) -> None:
    """What is given to a decorator: a name, and options that there are."""
    if not isinstance(name, str):
        raise ConfigError('@interceptor needs a name: write @interceptor("backup.example.com")')
    known = [one.name for one in fields(Interceptor) if one.name not in ("name", "handler")]
    for option in options:
        if option not in known:
            near = get_close_matches(option, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise ConfigError(f"interceptor {name}: there is no option {option}; {hint}")
