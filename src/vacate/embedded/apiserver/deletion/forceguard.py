"""The guard against unsafe force deletion of pods, on this server: it asks the rule, counts and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vacate.admission.pods import forcedeletion
from vacate.admission.pods.forcedeletion import ForceDeletionReason
from vacate.admission.pods.forcedeletionevents import force_deletion_event
from vacate.api import status
from vacate.api.kinds import EVENTS, NAMESPACES, PODS
from vacate.api.objects import Obj, name_of
from vacate.api.options import DeleteOptions
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.verbs import create
from vacate.embedded.store.commit import Write
from vacate.errors import ApiError


def admit(
    storage: Storage, call: Call, pod: Obj, options: DeleteOptions, also: Sequence[Obj] = ()
) -> ForceDeletionReason | None:
    """Why this deletion may take the pod out at once; None where it is no force deletion. Else Forbidden."""
    if call.kind != PODS or not storage.gates.enabled(forcedeletion.GATE):
        return None
    if not forcedeletion.may_leave_processes(pod, options.grace_period_seconds):
        return None
    namespace = storage.lookup(NAMESPACES, "", call.namespace)
    ground = forcedeletion.review(pod, call.user, namespace, storage.force_guard, also)
    if not options.is_dry_run:
        storage.count_force_deletion("refused" if ground is None else str(ground))
    if ground is None:
        raise status.forbidden(PODS, name_of(pod), forcedeletion.refusal(pod))
    return ground


def stage_event(storage: Storage, call: Call, pod: Obj, ground: ForceDeletionReason | None) -> list[Write]:
    """Report who has forced the pod out. A namespace that takes no more Events prevents no deletion."""
    if ground is None or (ground is ForceDeletionReason.UNGUARDED and not storage.force_guard.unlabelled):
        return []  # where the whole cluster does without the guard, no Event was asked for
    event = force_deletion_event(pod, call.user.name, ground, call.now)
    if event is None:
        return []
    try:
        return [create.stage(storage, replace(call, kind=EVENTS, name="", subresource=""), event)]
    except ApiError:
        return []
