"""What the reader of an explanation can do: each remedy with the command to run."""

from __future__ import annotations

import datetime as dt
import json

from vacate.api.identity import SERVICE_ACCOUNT_PREFIX
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.text import plain
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.requesternames import (
    MAINTENANCE_SUFFIX,
    fitted_requester,
    is_maintenance,
    maintenance_of,
)
from vacate.views.budgets import budget_remedies
from vacate.views.model import ExplanationInput, Remedy
from vacate.views.phrases import advice, command_line
from vacate.views.refusals import refusal_of

_NAMED = 3
CONTROLLER_DELAY = dt.timedelta(seconds=30)
"""A controller that runs does what is due long before this."""


def granting(role: str, user: str, namespace: str = "") -> str:
    """The command by which an administrator gives someone a ClusterRole, in one namespace or in all."""
    account = user.removeprefix(SERVICE_ACCOUNT_PREFIX) if user.startswith(SERVICE_ACCOUNT_PREFIX) else ""
    subject = f"--serviceaccount={account}" if account else f"--user={user or 'USER'}"
    made, where = ("rolebinding", ("-n", namespace)) if namespace else ("clusterrolebinding", ())
    return command_line("kubectl", "create", made, "NAME", f"--clusterrole={role}", subject, *where)


def cancellation(inputs: ExplanationInput) -> tuple[Remedy, ...]:
    """How the request can be cancelled, as far as its policy allows."""
    names = inputs.process.requesters
    drains = tuple(_cancel_drain(inputs, name) for name in names if is_maintenance(name))[:_NAMED]
    if inputs.process.forbids_cancellation:
        return (
            *drains,  # they come first: as long as one goes on, the other command is refused
            Remedy(
                f"{'Then cancel' if drains else 'Cancel'} it anyway, as an administrator. This allows "
                "cancellation again first; the interceptor may be in the middle of its work.",
                inputs.command("cancel", "--override"),
            ),
        )
    if len(names) == 1 and not drains:
        return (Remedy("Cancel the request.", inputs.command("cancel", "--requester", names[0])),)
    # A reader who is none of them would be refused without a name.
    each = tuple(
        Remedy(f"Withdraw {name} only.", inputs.command("cancel", "--requester", name))
        for name in names
        if not is_maintenance(name)
    )[:_NAMED]
    if drains:
        return *drains, *each
    return *each, Remedy("Cancel the request for all requesters.", inputs.command("cancel", "--override"))


def _cancel_drain(inputs: ExplanationInput, requester: str) -> Remedy:
    """A drain would request the eviction again, so that only the whole drain can be cancelled."""
    dialect = dialect_of(inputs.request)
    limit = dialect.max_requester
    name = maintenance_of(requester, limit)
    if inputs.maintenances is not None:
        named = {
            dialect.participant(fitted_requester(one.metadata.name, MAINTENANCE_SUFFIX, limit)): one.metadata
            for one in inputs.maintenances
        }
        own = named.get(requester)
        if own is None:
            gone = f"Withdraw {requester}: its NodeMaintenance no longer exists."
            return Remedy(gone, inputs.command("cancel", "--requester", requester))
        name = own.name
        if own.deletion_timestamp is not None:
            ends = (
                f"NodeMaintenance {name} is being cancelled and withdraws its request; see whether it does."
            )
            return Remedy(ends, command_line("kubectl", "get", "nodemaintenance", name))
    if name is None:
        how = f"{inputs.program} drain --cancel NAME"
        return Remedy(f"Cancel the whole drain with {how}; find its name.", "kubectl get nodemaintenances")
    return Remedy("Cancel the whole drain.", command_line(inputs.program, "drain", "--cancel", name))


def decide_on_failure(inputs: ExplanationInput) -> tuple[Remedy, ...]:
    """What an administrator can do about an interceptor that failed and holds its turn."""
    name = inputs.request.metadata.name
    dialect, end = dialect_of(inputs.request), {"status": {"activeInterceptorCompleted": True}}
    change = dialect.status_patch(end, inputs.request, inputs.now)
    form = "merge" if dialect.kind.custom else "strategic"
    done = ("--subresource=status", f"--type={form}", "-p", json.dumps(change, separators=(",", ":")))
    return (
        Remedy("Fix the cause and restart the interceptor: it tries again."),
        Remedy(
            "End its turn as failed, as an administrator; where its name is bound to an account, add "
            "--as=ACCOUNT.",
            inputs.kubectl("patch", inputs.request.kind.singular, name, *done),
        ),
    )


def follow(inputs: ExplanationInput) -> Remedy:
    """Follow the progress."""
    kind = inputs.request.kind
    api = () if kind is EVICTIONREQUESTS else ("--api", dialect_of(inputs.request).name)
    return Remedy("Follow it.", inputs.command("status", *api, "-w"))


def request_again(inputs: ExplanationInput) -> Remedy:
    """A new request in place of a completed one."""
    return Remedy("Request the eviction again.", inputs.command("evict"))


def allow_eviction(message: str) -> tuple[Remedy, ...]:
    """What to do about a webhook, a policy or a missing right that refuses the eviction; none for budgets."""
    by = refusal_of(message)
    return (Remedy(advice(by.text), by.command),) if by.name else ()


def look_at_budgets(inputs: ExplanationInput) -> tuple[Remedy, ...]:
    """What to do about the budgets that block the eviction."""
    names = [budget.metadata.name for budget in inputs.budgets]
    if not names:
        return ()
    if len(names) > 1:
        look = inputs.kubectl("describe", "pdb", *names)
        return (Remedy("Change the budgets so that only one of them selects the pod.", look),)
    found = budget_remedies(inputs.pod, inputs.budgets[0], inputs.request, inputs.workload)
    return tuple(Remedy(advice(one.text), one.command) for one in found)


def retry_now(inputs: ExplanationInput) -> Remedy:
    """Another attempt before the next scheduled one."""
    return Remedy("Try it again now.", inputs.command("retry"))


def skip_interceptor(inputs: ExplanationInput, interceptor: str) -> Remedy:
    """The end of a turn that would otherwise last until its deadline."""
    command = command_line(inputs.program, "skip", inputs.name, interceptor, "-n", inputs.namespace)
    return Remedy("Do not wait for it; its turn counts as failed.", command)


def find_interceptor(inputs: ExplanationInput, interceptor: str) -> Remedy:
    """A missing heartbeat usually means that no such interceptor runs."""
    status = f"the status of {inputs.request.kind.several}"
    return Remedy(
        f"Make sure that {interceptor} runs, selects this pod, and may update {status}.",
        inputs.kubectl("get", inputs.request.kind.singular, inputs.request.metadata.name, "-o", "yaml"),
    )


def look_for_controller(inputs: ExplanationInput, due: dt.datetime | None) -> tuple[Remedy, ...]:
    """What is due and does not happen has no controller to do it."""
    if due is None or inputs.now - due < CONTROLLER_DELAY:
        return ()
    return (Remedy("Make sure that Vacate's controller runs: this is overdue.", "kubectl get leases -A"),)


def reason_of(request: EvictionRequest) -> str:
    """Why the eviction is requested, where a reason was given."""
    return plain(request.metadata.annotations.get(REASON, ""))


REASON = "vacate.dev/reason"
"""The annotation that holds the free text of a request."""
