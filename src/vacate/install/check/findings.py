"""PURE. What is found about each part of an installation: one line, and what helps where it is wrong."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cryptography import x509

from vacate import __version__
from vacate.api.installednames import (
    CERTIFICATES,
    LAST_WORK,
    LIFECYCLE_CONTROLLER,
    MANAGER_VERSION,
    OWN_LIFECYCLE_CONTROLLER,
    WEBHOOK,
)
from vacate.api.objects import Obj, dig, name_of, namespace_of
from vacate.api.text import plain
from vacate.api.times import is_time, parse_time
from vacate.api.types import Lease, Node
from vacate.client.serverclock import NOTABLE_OFFSET
from vacate.install.apply.readiness import authority_left
from vacate.install.manifests.webhooks import webhook_configurations
from vacate.install.settings import Certificates, Settings
from vacate.kube.nodes import readiness
from vacate.views.interceptors import InterceptorSummary, unbound_notice
from vacate.views.managerhealth import ManagerHealth, ManagerState
from vacate.views.model import Remedy
from vacate.views.phrases import ago, command_line, counted, listed, span
from vacate.views.refusals import own_webhook_look


class State(enum.StrEnum):
    """How it is with one part."""

    OK = "ok"
    WARNING = "warning"  # it works, and something about it may not be as it should
    FAILED = "failed"
    UNSEEN = "not seen"  # the caller may not look


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a check."""

    check: str
    state: State
    text: str
    remedies: tuple[Remedy, ...] = ()


_LISTED = 4
_CERTIFICATE_SOON = dt.timedelta(days=7)
_NODE_LEASE = dt.timedelta(seconds=40)  # after which Kubernetes takes a silent node for lost


def some(names: Sequence[str]) -> str:
    """The first few of them."""
    rest = len(names) - _LISTED
    return listed([*names[:_LISTED], f"{rest} more"] if rest > 0 else names)


def versions(cluster: str, leases: Sequence[Lease] | None, again: Remedy) -> Finding:
    """This program, the manager that leads, and the cluster."""
    text = f"vacate {__version__}, Kubernetes {plain(cluster)}"
    marks = [
        one.metadata.annotations.get(MANAGER_VERSION, "") for one in leases or () if one.spec.holder_identity
    ]
    other = next((plain(one) for one in marks if one and one != __version__), "")
    if other:
        differs = (
            f"{text}; the manager that leads is {other}, so that each may know fields the other does not"
        )
        return Finding("versions", State.WARNING, differs, (again,))
    known = ", and so is the manager" if marks and marks[0] else ""
    return Finding("versions", State.OK, f"{text}{known}")


def definitions(unserved: Sequence[str], differing: Sequence[str], seen: bool, again: Remedy) -> Finding:
    """Whether the API server answers for Vacate's kinds, and by the definitions of this version."""
    if unserved:
        return Finding(
            "definitions", State.FAILED, f"the API server does not serve {some(unserved)}", (again,)
        )
    if differing:
        text = f"{some(differing)}: not as this version of the program defines it"
        return Finding("definitions", State.WARNING, text, (again,))
    where = "" if seen else "; whether they are of this version is not seen: you may not get them"
    return Finding("definitions", State.OK, f"all kinds are served{where}")


def differs(wanted: object, found: object) -> bool:
    """Whether a field that was applied is another one now; what a server has added does not count.

    The texts of rules are left out: which names of interceptors they allow is an option of the installation.
    """
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping):
            return bool(wanted)
        return any(differs(value, found.get(key)) for key, value in wanted.items() if key != "rule")
    if isinstance(wanted, list):
        if not isinstance(found, list):
            return bool(wanted)
        return len(wanted) != len(found) or any(map(differs, wanted, found))
    return wanted != found and bool(wanted or found)


def objects_there(missing: Sequence[str], total: int, unseen: int, again: Remedy) -> Finding:
    """Whether all objects of the installation are in the cluster."""
    if missing:
        return Finding("objects", State.FAILED, f"missing: {some(missing)}", (again,))
    if unseen:
        text = f"{unseen} of {total} objects of the installation cannot be read by you"
        return Finding("objects", State.UNSEEN, text)
    return Finding("objects", State.OK, f"all {total} objects of the installation are there")


def manager(health: ManagerHealth, leases: Sequence[Lease] | None, now: dt.datetime) -> Finding:
    """Who leads, and when it last finished something."""
    if health.state is ManagerState.UNKNOWN:
        text = health.text or "you may not read the Lease that shows whether a manager works"
        return Finding("manager", State.UNSEEN, text, health.remedies)
    if health.state is not ManagerState.WORKS or not leases:
        others = tuple(one for one in health.remedies if not one.command.endswith(" check"))  # than this one
        return Finding("manager", State.FAILED, health.text, others)
    lease = max(leases, key=lambda one: one.spec.renew_time or now - dt.timedelta(days=9999))
    renewed = ago(lease.spec.renew_time, now) if lease.spec.renew_time else "at an unknown time"
    text = f"{plain(lease.spec.holder_identity)} leads; its Lease was renewed {renewed}"
    worked = lease.metadata.annotations.get(LAST_WORK, "")
    done = "it has had no work yet"
    if is_time(worked):
        done = f"it last finished work on an object {ago(parse_time(worked), now)}"
    other = plain(lease.metadata.annotations.get(LIFECYCLE_CONTROLLER, OWN_LIFECYCLE_CONTROLLER))
    left = "" if other == OWN_LIFECYCLE_CONTROLLER else f"; Evictions of lifecycle.k8s.io are left to {other}"
    return Finding("manager", State.OK, f"{text}; {done}{left}")


def webhook_answer(message: str, seconds: float, settings: Settings, again: Remedy) -> Finding:
    """What came of a request that only the webhook refuses; it was sent as a dry run."""
    if "vacate.dev" in message and "denied the request" in message:
        return Finding("webhook", State.OK, f"it answers the API server (in {seconds * 1000:.0f} ms)")
    if look := own_webhook_look(message):
        why = message.partition("failed calling webhook")[2].partition(": ")[2] or message
        remedies = [Remedy("See whether its pods run", look)]
        if "x509" in why or "certificate" in why:
            remedies.insert(0, _certificate_logs(settings))
        return Finding(
            "webhook", State.FAILED, f"the API server cannot reach it: {plain(why)}", tuple(remedies)
        )
    text = f"the API server does not ask it: {plain(message)}"
    return Finding("webhook", State.FAILED, text, (again,))


def _certificate_logs(settings: Settings) -> Remedy:
    namespace = settings.namespace
    if settings.certificates is Certificates.CERT_MANAGER:
        command = command_line("kubectl", "-n", namespace, "describe", f"certificate/{WEBHOOK}")
        return Remedy("See why cert-manager does not issue or inject it", command)
    command = command_line("kubectl", "-n", namespace, "rollout", "restart", f"deployment/{CERTIFICATES}")
    return Remedy("Let the rotator issue the certificate and write its CA anew", command)


def authority(configurations: Sequence[Obj], settings: Settings, now: dt.datetime) -> Finding:
    """Whether the API server can trust the webhook: by which CA, and until when."""
    remedies = (_certificate_logs(settings),)
    expiries: list[dt.datetime] = []
    for one in configurations:
        if left := authority_left(one):
            return Finding("webhook CA", State.FAILED, f"{name_of(one)}: {left}", remedies)
        for hook in one.get("webhooks") or []:
            ends = _expiry(str(dig(hook, "clientConfig", "caBundle")))
            if ends is None:
                text = f"{name_of(one)}: the CA of {plain(str(hook.get('name')))} is not a certificate"
                return Finding("webhook CA", State.FAILED, text, remedies)
            expiries.append(ends)
    ends = min(expiries, default=now)
    until = f"{ends:%Y-%m-%d}"
    if ends <= now:
        return Finding("webhook CA", State.FAILED, f"it has expired on {until}", remedies)
    state = State.WARNING if ends - now < _CERTIFICATE_SOON else State.OK
    text = f"every webhook of both configurations has one, valid until {until}"
    return Finding("webhook CA", state, text, remedies if state is State.WARNING else ())


def _expiry(bundle: str) -> dt.datetime | None:
    """When the last certificate of a bundle expires: with a rotation the older ones stay for a while."""
    try:
        found = x509.load_pem_x509_certificates(base64.b64decode(bundle))
    except (ValueError, binascii.Error):
        return None
    return max((one.not_valid_after_utc for one in found), default=None)


def failure_policies(configurations: Sequence[Obj], settings: Settings, again: Remedy) -> Finding:
    """What becomes of writes while the webhook does not answer, beside what this program would install."""
    found = {
        str(hook["name"]): str(hook.get("failurePolicy"))
        for one in configurations
        for hook in one["webhooks"]
    }
    wanted = {
        str(hook["name"]): str(hook["failurePolicy"])
        for one in webhook_configurations(settings)
        for hook in one["webhooks"]
    }
    missing = [name for name in wanted if name not in found]
    if missing:
        return Finding("failure policies", State.FAILED, f"no longer asked: {some(missing)}", (again,))
    closed = sorted(
        name for name, policy in found.items() if policy == "Fail" and wanted.get(name) == "Ignore"
    )
    if closed:
        text = f"while the webhook is away the API server refuses all writes that it sends to {some(closed)}"
        back = Remedy(
            "Let them pass", f"{again.command} --pod-failure-policy=Ignore --status-failure-policy=Ignore"
        )
        return Finding("failure policies", State.WARNING, text, (back,))
    opened = sorted(
        name for name, policy in found.items() if policy == "Ignore" and wanted.get(name) == "Fail"
    )
    if opened:
        text = f"while the webhook is away nothing reviews what is sent to {some(opened)}"
        back = Remedy("Refuse it then", f"{again.command} --request-failure-policy=Fail")
        return Finding("failure policies", State.WARNING, text, (back,))
    text = "while the webhook is away, requests are refused; pods, status and evictions pass"
    return Finding("failure policies", State.OK, text)


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource that an account should have."""

    account: str  # namespace/name
    namespace: str  # empty for everywhere
    group: str
    resource: str
    verb: str
    name: str = ""

    @property
    def attributes(self) -> Obj:
        """As an access review asks for it."""
        resource, _, subresource = self.resource.partition("/")
        made = {"group": self.group, "resource": resource, "subresource": subresource, "verb": self.verb}
        made |= {"namespace": self.namespace, "name": self.name}
        return {key: value for key, value in made.items() if value or key == "group"}

    def __str__(self) -> str:
        group = f".{self.group}" if self.group else ""
        return f"{self.verb} {self.resource}{group}"


def wanted_rights(objects: Sequence[Obj]) -> list[Right]:
    """What the accounts of an installation should be allowed, by its roles and bindings."""
    roles = {
        (one["kind"], name_of(one), one["metadata"].get("namespace", "")): one["rules"]
        for one in objects
        if one["kind"] in ("Role", "ClusterRole")
    }
    found: dict[Right, None] = {}
    for one in objects:
        if one["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        ref, where = one["roleRef"], one["metadata"].get("namespace", "")
        rules = roles.get((ref["kind"], ref["name"], where if ref["kind"] == "Role" else ""), [])
        for subject in one["subjects"]:
            account = f"{subject.get('namespace', '')}/{subject['name']}"
            found |= dict.fromkeys(
                Right(account, where, group, resource, verb, name)
                for rule in rules
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for verb in rule["verbs"]
                for name in rule.get("resourceNames", [""])
            )
    return list(found)


def accounts(total: int, lacking: Sequence[Right], surplus: Sequence[Obj], again: Remedy) -> Finding:
    """Whether each account may do what it has to, by the API server's own answers, and has no other roles."""
    if lacking:
        by: dict[str, list[str]] = {}
        for right in lacking:
            by.setdefault(right.account, []).append(str(right))
        text = "; ".join(f"{account} may not {some(rights)}" for account, rights in by.items())
        return Finding("accounts", State.FAILED, text, (again,))
    if surplus:
        bound = [f"{_named(one)} to {dig(one, 'roleRef', 'name')}" for one in surplus]
        text = f"more is bound to Vacate's accounts than the installation needs: {some(bound)}"
        remedies = []
        for one in surplus[:_LISTED]:
            where = namespace_of(one)
            words = ("delete", _named(one), *(("-n", where) if where else ()))
            remedies.append(Remedy("Remove it unless it was meant", command_line("kubectl", *words)))
        return Finding("accounts", State.WARNING, text, tuple(remedies))
    return Finding("accounts", State.OK, f"the API server allows each account all it needs ({total} rights)")


def _named(obj: Obj) -> str:
    return f"{str(obj['kind']).lower()}/{name_of(obj)}"


def clocks(offset: dt.timedelta, nodes: Sequence[tuple[Node, Lease | None]], now: dt.datetime) -> Finding:
    """This machine's clock and those of the nodes, beside the API server's."""
    wrong = []
    if abs(offset) > NOTABLE_OFFSET:
        side = "behind" if offset > dt.timedelta() else "ahead of"
        wrong.append(f"this machine is {span(abs(offset))} {side} the API server")
    for node, lease in nodes:
        renewed = lease.spec.renew_time if lease is not None else None
        if renewed is None or readiness(node) != "True":
            continue
        if renewed - now > NOTABLE_OFFSET:
            wrong.append(f"node {node.metadata.name} is {span(renewed - now)} ahead of it")
        elif now - renewed > _NODE_LEASE + NOTABLE_OFFSET:
            # Kubernetes sees that the Lease changes, whatever time is in it, and leaves the node Ready.
            wrong.append(f"node {node.metadata.name} is about {span(now - renewed)} behind it")
    if wrong:
        remedy = Remedy("Synchronise the time of these machines; see there", "timedatectl status")
        return Finding("clocks", State.WARNING, some(wrong), (remedy,))
    compared = f" and {counted(len(nodes), 'node')}" if nodes else ""
    agree = "agree" if nodes else "agrees"
    return Finding("clocks", State.OK, f"this machine{compared} {agree} with the API server")


def interceptors(summaries: Sequence[InterceptorSummary], program: str) -> Finding:
    """Who intercepts evictions, whether they answer, and whether each is bound to an account."""
    silent = [one for one in summaries if one.silent]
    look = Remedy("See them", command_line(program, "interceptors", "-A"))
    if silent:
        never = all(one.state == "NeverAnswered" for one in silent)
        how = "never answered" if never else "did not answer until the deadline of the last turn"
        text = f"{some([one.name for one in silent])} {how}: each eviction waits until its turn times out"
        return Finding("interceptors", State.WARNING, text, (look,))
    if notice := unbound_notice(summaries):
        what, _, bind = notice.partition(". Bind ")
        command = f"{program} install --interceptor NAME=NAMESPACE/SERVICEACCOUNT"
        return Finding(
            "interceptors", State.WARNING, what, (Remedy("Bind " + bind.partition(" with ")[0], command),)
        )
    if not summaries:
        return Finding("interceptors", State.OK, "no pod registers one")
    bound = "" if any(one.accounts is None for one in summaries) else ", each bound to an account"
    return Finding("interceptors", State.OK, f"{counted(len(summaries), 'interceptor')}{bound}")


def caller(user: str, allowed: Mapping[str, bool], grants: Mapping[str, str]) -> Finding:
    """What the person who asks may do with Vacate."""
    may = [task for task, yes in allowed.items() if yes]
    may_not = [task for task, yes in allowed.items() if not yes]
    who = f"you ({plain(user)})" if user else "you"
    text = f"{who} may {listed(may)}" if may else f"{who} may do nothing with Vacate"
    if may and may_not:
        text += f"; you may not {listed(may_not, 'or')}"
    given: dict[str, list[str]] = {}  # what each command gives
    for one in may_not:
        given.setdefault(grants[one], []).append(one)
    remedies = tuple(Remedy(f"An administrator lets you {listed(of)}", way) for way, of in given.items())
    needed = [one for one in may_not if not one.startswith("fence")]
    return Finding("you", State.WARNING if needed else State.OK, text, remedies if needed else ())
