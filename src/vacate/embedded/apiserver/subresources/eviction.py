"""POST pods/NAME/eviction: delete a pod as far as its disruption budget allows.

Between reading the pod and its budgets and staging the last write nothing is awaited, so that any number of
evictions at once spend from a budget one after the other.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import lru_cache

import orjson

from vacate.admission.pods.bridge import BridgeConfig, read_eviction
from vacate.api import status
from vacate.api.fielderrors import invalid
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.selectors.labels import Selector
from vacate.api.terminationreason import EVICTION
from vacate.embedded import schema
from vacate.embedded.apiserver.call import Call, dry_run_directives
from vacate.embedded.apiserver.deletion import forceguard
from vacate.embedded.apiserver.deletion.decision import check_preconditions
from vacate.embedded.apiserver.deletion.options import check_options, drop_gated, options_from_body
from vacate.embedded.apiserver.deletion.staging import settle, stage_deletion
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.response.stored import decode
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.subresources import evictiondecision as deciding
from vacate.embedded.apiserver.subresources.body import read_posted
from vacate.embedded.store.commit import Write
from vacate.embedded.store.types import Entry
from vacate.errors import ApiError, BadRequest, TransportError
from vacate.eviction.attempts import is_by_budget
from vacate.kube.eviction import bypasses_budgets, selector_of_budget
from vacate.wire.message import Response

_log = logging.getLogger(__name__)

_EVICTION = Kind("policy", "v1", "Eviction", "evictions", "eviction", namespaced=True)
_VERSIONS = ("policy/v1", "policy/v1beta1")
_UNSAFE = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential"


async def evict(storage: Storage, call: Call) -> Response:
    """Ask the budgets, spend, mark the pod, delete it."""
    body = read_posted(storage, call, "Eviction", _VERSIONS)
    options = _read_options(storage, call, body)
    storage.policies.admit(call, body, None)
    await _ask_bridge(storage, call, body, options)
    writes: list[Write] = []
    try:
        newest = _stage(storage, call, options, body, writes)
    finally:
        # A deletion that is refused after the budget was spent leaves it spent, as watchers see.
        await settle(writes)
    await storage.store.wait_for(newest.revision)
    return respond.success(201)


async def _ask_bridge(storage: Storage, call: Call, body: Obj, options: DeleteOptions) -> None:
    """Raise what the eviction bridge answers; where it has no answer the eviction passes, as by webhook."""
    if storage.bridge is None:
        return
    review = read_eviction(call.user, call.namespace, call.name, body, dry_run=options.is_dry_run)
    config = BridgeConfig(
        storage.authority,
        storage.allowed_interceptors,
        storage.bridge_wait,
        gates=storage.gates,
    )
    try:

        async def check(_: Kind) -> None:
            _check_dry_run(storage, call, options, body)

        answer = await storage.bridge.answer(review, config, check)
    except (ApiError, TransportError, TimeoutError) as error:
        _log.warning("the eviction bridge did not answer: %s", str(error) or "in time")
        return
    if answer.refusal is not None:
        raise answer.refusal


def _check_dry_run(storage: Storage, call: Call, options: DeleteOptions, body: Obj) -> None:
    """Raise what the caller would be answered, but for budgets, which a request waits for."""
    try:
        _stage(storage, call, replace(options, dry_run=("All",)), body, [])
    except ApiError as error:
        if not is_by_budget(error):
            raise


def _read_options(storage: Storage, call: Call, body: Obj) -> DeleteOptions:
    if body["metadata"].get("name", "") != call.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    given = body.get("deleteOptions")
    options = None if given is None else options_from_body(given)
    if options is not None and options.unsafe:
        detail = "can not be set for pod eviction, try after removing the option"
        raise status.invalid(_EVICTION, call.name, [invalid(_UNSAFE, True, detail)])
    merged = deciding.merge_dry_run(tuple(dry_run_directives(call.request)), options)
    # Checked before the budget is spent; the other options are part of the deletion, as in kube-apiserver.
    check_options(DeleteOptions(reason=drop_gated(merged, storage.gates).reason))
    return drop_gated(replace(merged, reason=merged.reason or EVICTION), storage.gates)


def _stage(storage: Storage, call: Call, asked: DeleteOptions, body: Obj, writes: list[Write]) -> Entry:
    """Everything up to the disk, in one step; the pod's newest entry."""
    entry, pod = storage.current(PODS, call.namespace, call.name)
    ground = forceguard.admit(storage, call, pod, asked, [body])
    budgets = [] if bypasses_budgets(pod) else _budgets_of(storage, pod)
    decided = deciding.decide_eviction(pod, [budget for _, budget in budgets], asked, call.now)
    if decided.budget is not None:
        spent = storage.stage_update(PODDISRUPTIONBUDGETS, decided.budget, budgets[0][0])
        writes += [] if spent is None else [spent]
    try:
        newest = _stage_pod(storage, call, decided.options, (entry, pod), writes)
    except ApiError as error:
        raise decided.explain(error, asked) from None
    writes += [] if asked.is_dry_run else forceguard.stage_event(storage, call, pod, ground)
    return newest


def _budgets_of(storage: Storage, pod: Obj) -> list[tuple[Entry, Obj]]:
    """The budgets of the pod's namespace that cover it, writes under way included."""
    entries = storage.store.tip_list(PODDISRUPTIONBUDGETS.resource, pod["metadata"]["namespace"])
    labels = pod["metadata"].get("labels") or {}
    covering = [entry for entry in entries if _selector_in(entry.value).matches(labels)]
    return [(entry, decode(PODDISRUPTIONBUDGETS, entry)) for entry in covering]


@lru_cache(maxsize=4096)
def _selector_in(stored: bytes) -> Selector:
    """The selector of a stored budget, read once: each eviction asks all budgets of its namespace."""
    return selector_of_budget(orjson.loads(stored))


def _stage_pod(
    storage: Storage, call: Call, options: DeleteOptions, current: tuple[Entry, Obj], writes: list[Write]
) -> Entry:
    if not options.is_dry_run:
        current, options = _stage_mark(storage, call, options, current, writes)
    staged = stage_deletion(storage, PODS, current, options, call.now)
    writes += staged.writes
    return staged.entry


def _stage_mark(
    storage: Storage, call: Call, options: DeleteOptions, current: tuple[Entry, Obj], writes: list[Write]
) -> tuple[tuple[Entry, Obj], DeleteOptions]:
    """Say on the pod why it goes; preconditions hold for what it was before."""
    entry, pod = current
    before = replace(options, uid=options.uid or None, resource_version=options.resource_version or None)
    check_preconditions(PODS, pod, before)
    pod = deciding.mark_for_eviction(pod, call.now)
    schema.complete(PODS, pod)
    write = storage.stage_update(PODS, pod, entry)
    if write is not None:
        writes.append(write)
        entry = write.entry
    # The mark itself has moved the resourceVersion; the one that was asked for has been met.
    return (entry, pod), replace(options, resource_version=None)
