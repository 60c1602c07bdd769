"""A busy API server: priority and fairness turns manager and webhook away, and nothing is lost by it.

Both share a priority level of one seat, without a queue, with somebody whose write takes as long as we want.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hack.kubelab.control_plane import running
from hack.kubelab.obtain import ASSETS

from support.hostile.slow_hook import SlowHook
from support.https import Obj
from support.manifests import pod
from support.processes.program import Program
from support.realcluster.audit import calls
from support.realcluster.evictions import HOME, RealCluster
from support.waiting import until
from vacate.api.installednames import MANAGER, WEBHOOK
from vacate.api.kinds import EVICTIONREQUESTS as KIND

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("fairness"), pytest.mark.timeout(300)]

PODS = "/api/v1/namespaces/default/pods"
REQUESTS = KIND.collection_path("default")
FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MAPS = "/api/v1/namespaces/kube-public/configmaps"
NEW_MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}
LEVEL = {
    "metadata": {"name": "narrow"},
    "spec": {
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": 1,
            "lendablePercent": 0,
            "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"},
        },
    },
}
COUNT = 12
_CAME_AND_WENT = ("requestReceivedTimestamp", "stageTimestamp")


def flow(*accounts: str) -> Obj:
    """All that these do, and all users called `load`, share the level."""
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
    subjects: list[Obj] = [{"kind": "User", "user": {"name": "load"}}]
    subjects += [
        {"kind": "ServiceAccount", "serviceAccount": {"namespace": HOME, "name": name}} for name in accounts
    ]
    rule = {"subjects": subjects, "resourceRules": [{**everything, "clusterScope": True}]}
    return {
        "metadata": {"name": "narrow"},
        "spec": {
            "priorityLevelConfiguration": {"name": "narrow"},
            "matchingPrecedence": 500,
            "rules": [rule],
        },
    }


class Busy:
    """A cluster with Vacate whose API server can be made busy."""

    def __init__(self, cluster: RealCluster) -> None:
        self.cluster = cluster
        self.admin = cluster.admin
        self.admin.create(f"{FLOWS}/prioritylevelconfigurations", LEVEL)
        self.admin.create(f"{FLOWS}/flowschemas", flow())
        rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "load"}
        self.admin.create(rbac, {"metadata": {"name": "load"}, "roleRef": role, "subjects": [subject]})

    def share(self, *accounts: str) -> None:
        """Let these, and nobody else of ours, share the level with the load."""
        self.admin.patch(f"{FLOWS}/flowschemas/narrow", {"spec": flow(*accounts)["spec"]})

    @contextmanager
    def taken(self) -> Iterator[None]:
        """The only seat is taken for the length of the block; nothing else gets through."""
        hook = SlowHook()
        with hook.listening():
            self.admin.create(HOOKS, hook.configuration("slow", NEW_MAPS, "kube-public"))
            posting = threading.Thread(target=self._post_until, args=(hook.arrived,), daemon=True)
            posting.start()
            try:
                until(hook.arrived.is_set)
                until(self._is_full)
                yield
            finally:
                hook.let_go.set()
                self.admin.delete(f"{HOOKS}/slow")
                posting.join(60)

    def _post_until(self, arrived: threading.Event) -> None:
        """New configurations and flows are followed by and by: until they are, writes pass at once."""
        while not arrived.is_set():
            self._as_load("POST", MAPS, {"metadata": {"generateName": "load-"}})

    def _is_full(self) -> bool:
        return self._as_load("GET", MAPS) == 429

    def _as_load(self, method: str, path: str, body: Obj | None = None) -> int:
        return self.admin.call(method, path, body, headers={"Impersonate-User": "load"}).code

    def ask(self, made: Obj) -> int:
        """Request a pod's eviction."""
        meta = made["metadata"]
        spec = {
            "target": {"podRef": {"name": meta["name"], "uid": meta["uid"]}},
            "requesters": [{"name": "a.example.com"}],
        }
        body = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": meta["uid"]}}
        return self.admin.call("POST", REQUESTS, {**body, "spec": spec}).code

    def pod(self, name: str) -> Obj:
        return self.admin.create(PODS, pod(name, schedulerName="nobody"))


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    folder = tmp_path_factory.mktemp("fairness")
    with running(Path(os.environ[ASSETS]), folder, controllers=False, audit=True, fairness=True) as plane:
        cluster = RealCluster(plane)
        del cluster.managers[1:]
        try:
            cluster.start()
            yield Busy(cluster)
        finally:
            cluster.close()


def throttled(program: Program) -> float:
    """How many of its requests were turned away, by its own word."""
    address = program.wait_for(r"health and metrics on (http://\S+)")
    with urllib.request.urlopen(f"{address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return sum(float(one) for one in re.findall(r"^vacate_client_throttled_total\{.*\} (\S+)$", text, re.M))


def test_evictions_wait_for_a_seat(busy: Busy) -> None:
    manager = busy.cluster.managers[0]
    pods = [busy.pod(f"p-{number}") for number in range(COUNT)]
    busy.share(MANAGER)
    with busy.taken():
        before = throttled(manager)
        assert [busy.ask(one) for one in pods] == [201] * COUNT
        until(lambda: throttled(manager) >= before + 2)
        assert len(busy.admin.get(PODS).ok()["items"]) == COUNT
    uids = [one["metadata"]["uid"] for one in pods]
    until(lambda: all(_complete(busy, uid) for uid in uids))
    assert busy.admin.get(PODS).ok()["items"] == []
    assert manager.running
    _nothing_was_evicted_twice(busy, uids)
    _pauses_were_kept(busy)


def _complete(busy: Busy, name: str) -> bool:
    found = busy.admin.get(f"{REQUESTS}/{name}").ok().get("status", {}).get("conditions", [])
    return any(one["type"] == "Complete" and one["status"] == "True" for one in found)


def _nothing_was_evicted_twice(busy: Busy, uids: list[str]) -> None:
    asked = [one for one in calls(busy.cluster.audit_log) if one.resource == "pods/eviction"]
    accepted = [one for one in asked if one.code == 201]
    found = Counter(str(one.body["deleteOptions"]["preconditions"]["uid"]) for one in accepted)
    assert found == Counter(uids)


@dataclass(frozen=True)
class Heard:
    """A request as the API server saw it come and go."""

    what: tuple[str, str, str]  # verb, resource, name
    came: dt.datetime
    went: dt.datetime
    code: int


def _pauses_were_kept(busy: Busy) -> None:
    """What was refused comes again after a second at the earliest: a server asks for at least one.

    Other requests may be on their way when a refusal comes, and the clocks of a busy machine do not tell.
    Events come again after everything else, so their return is waited for.
    """
    until(lambda: all(pauses for _, pauses in _pauses(busy)))
    refused = _pauses(busy)
    assert refused
    for refusal, pauses in refused:
        assert min(pauses) >= dt.timedelta(seconds=1), refusal


def _pauses(busy: Busy) -> list[tuple[Heard, list[dt.timedelta]]]:
    """Each refused request, and after how long the same one came again, each time that it did."""
    seen = _heard(busy)
    return [
        (
            refusal,
            [one.came - refusal.went for one in seen if one.what == refusal.what and one.came > refusal.went],
        )
        for refusal in seen
        if refusal.code == 429
    ]


def _heard(busy: Busy) -> list[Heard]:
    user = f"system:serviceaccount:{HOME}:{MANAGER}"
    found = []
    for line in busy.cluster.audit_log.read_text().rpartition("\n")[0].splitlines():  # those that are whole
        event = json.loads(line)
        if event["user"]["username"] != user or event["stage"] != "ResponseComplete":
            continue
        about = event.get("objectRef", {})
        if about.get("resource") != "leases" and about.get("name") and event["verb"] != "watch":
            came, went = (dt.datetime.fromisoformat(event[key]) for key in _CAME_AND_WENT)
            what = (event["verb"], "/".join((about["resource"], about.get("subresource", ""))), about["name"])
            found.append(Heard(what, came, went, event["responseStatus"]["code"]))
    return found


def test_reviews_wait_for_a_seat(busy: Busy) -> None:
    """Who asks meanwhile waits a little, and is not refused."""
    webhook = busy.cluster.webhook
    made = busy.pod("asked-for")
    busy.share(WEBHOOK)
    codes: list[int] = []
    asking = threading.Thread(target=lambda: codes.append(busy.ask(made)), daemon=True)
    with busy.taken():
        before = throttled(webhook)
        asking.start()
        until(lambda: throttled(webhook) > before)
        assert codes == []
    asking.join(60)
    assert codes == [201]
