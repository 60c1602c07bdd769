"""Reviews of pods: annotated by rule where the author says nothing, never against what the author says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import ADMIN, Embedded, embedded
from support.reviews import MUTATE_PODS, MUTATE_WORKLOAD_PODS, VALIDATE_PODS, Hook, review
from vacate.admission.pods.registrationrules import read_rules
from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, PODS, REPLICASETS, Kind
from vacate.api.objects import Obj
from vacate.api.types import ObjectMeta
from vacate.api.workloads import OPT_IN
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import ConfigError
from vacate.eviction.registration import PREFIXES, resolve
from vacate.features import parse_feature_gates
from vacate.kube.ownership import controller_reference
from vacate.testing import deployment
from vacate.webhook.reviewer import WebhookConfig

pytestmark = pytest.mark.unit

LONG = "a-very-long-name-of-an-interceptor-that-fits-into-no-key.example.com"
RULES = f"""
rules:
  - name: batch
    ownerKinds: [Job]
    interceptors:
      - {{name: checkpoint.example.com, priority: 20}}
      - {{name: {LONG}, priority: 30}}
  - namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: d}}}}
    podSelector: {{matchExpressions: [{{key: app, operator: In, values: [web]}}]}}
    interceptors:
      - {{name: saver.example.com, priority: 10000, role: controller}}
"""


def pod(labels: Obj | None = None, annotations: Obj | None = None, owner: str = "", **spec: Any) -> Obj:
    meta: Obj = {"generateName": "web-", "namespace": "d"}
    if labels:
        meta["labels"] = labels
    if annotations is not None:
        meta["annotations"] = annotations
    if owner:
        meta["ownerReferences"] = [{"kind": "Other", "name": "o"}, {"kind": owner, "controller": True}]
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def of_pod(new: Obj, operation: str = "CREATE", **more: Any) -> Obj:
    return review(operation, new=new, kind=PODS, **{"namespace": "d", **more})


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as server:
        yield server


@pytest.fixture
def hook(server: Embedded) -> Hook:
    return Hook.beside(server, WebhookConfig(rules=read_rules(RULES, "rules.yaml")))


@pytest.mark.parametrize(
    ("sort", "interceptors"),
    [
        ({"labels": {"app": "web"}}, ("saver.example.com",)),
        ({"labels": {"app": "web"}, "annotations": {"a/b~c": "d"}}, ("saver.example.com",)),
        ({"labels": {"app": "db"}}, ()),
        ({"owner": "Job"}, ("checkpoint.example.com", LONG)),
        ({"owner": "Job", "labels": {"app": "web"}}, ("checkpoint.example.com", LONG)),
        ({"owner": "ReplicaSet"}, ()),
    ],
)
async def test_rules(hook: Hook, sort: Any, interceptors: tuple[str, ...]) -> None:
    sent = of_pod(pod(**sort))
    made = (await hook.ask(MUTATE_PODS, sent)).applied(sent["request"]["object"])
    found = resolve(made)
    assert found.field_errors == ()
    assert found.interceptors == interceptors
    for key, value in (sort.get("annotations") or {}).items():
        assert made["metadata"]["annotations"][key] == value
    assert (await hook.ask(VALIDATE_PODS, of_pod(made))).allowed


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_what_the_author_wrote_stays(hook: Hook, prefix: str) -> None:
    for written in ({f"{prefix}/priority_mine.example.com": "7"}, {f"{prefix}/hash_x": "broken"}):
        answer = await hook.ask(MUTATE_PODS, of_pod(pod({"app": "web"}, written)))
        assert answer.patch == []
    listed = pod({"app": "web"}, evictionInterceptors=[{"name": "mine.example.com"}])
    assert (await hook.ask(MUTATE_PODS, of_pod(listed))).patch == []


async def test_only_new_pods_are_annotated(hook: Hook) -> None:
    answer = await hook.ask(MUTATE_PODS, of_pod(pod({"app": "web"}), "UPDATE", old=pod({"app": "web"})))
    assert answer.patch == []


async def test_a_namespace_that_is_not_there_matches_no_rule_about_namespaces(hook: Hook) -> None:
    answer = await hook.ask(MUTATE_PODS, of_pod(pod({"app": "web"}), namespace="no"))
    assert answer.allowed
    assert answer.patch == []


async def test_malformed_annotations_are_refused_unless_they_were_there(hook: Hook) -> None:
    broken = pod(annotations={f"{PREFIXES[0]}/priority_a.example.com": "first"})
    answer = await hook.ask(VALIDATE_PODS, of_pod(broken, name="web-1"))
    assert answer.refusal["code"] == 422
    assert answer.refusal["message"].startswith('Pod "web-1" is invalid: metadata.annotations[')
    assert not (await hook.ask(VALIDATE_PODS, of_pod(broken, "UPDATE", old=pod()))).allowed
    assert (await hook.ask(VALIDATE_PODS, of_pod(broken, "UPDATE", old=broken))).allowed


async def test_with_the_feature_off_pods_are_left_alone(hook: Hook) -> None:
    hook.terms = WebhookConfig(parse_feature_gates("EvictionRequestAPI=false"), rules=hook.terms.rules)
    assert (await hook.ask(MUTATE_PODS, of_pod(pod({"app": "web"})))).patch == []
    broken = pod(annotations={f"{PREFIXES[0]}/priority_a.example.com": "first"})
    assert (await hook.ask(VALIDATE_PODS, of_pod(broken))).allowed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: [", "is not YAML"),
        ("- 1", "Expected `object`"),
        ("rules: [{interceptors: [], podSelectors: {}}]", "podSelectors"),
        ("rules: [{podSelector: {matchLabel: {a: b}}, interceptors: []}]", "matchLabel"),
        ("rules: [{interceptors: [{name: a.b, priority: x}]}]", "priority"),
        ("rules: [{interceptors: [{name: a.b, priority: 100001}]}]", "from 0 to 100000"),
        ("rules: [{interceptors: [{name: a.b, priority: 10000}]}]", "reserved for the role controller"),
        ("rules: [{interceptors: [{name: A_B, priority: 1}]}]", "lower case"),
        ("rules: [{interceptors: [{name: x.k8s.io, priority: 1}]}]", "reserved for Kubernetes"),
        ("rules: [{interceptors: [{name: a.b, priority: 1}, {name: a.b, priority: 2}]}]", "named twice"),
        (
            "rules: [{podSelector: {matchExpressions: [{key: a, operator: Is}]}, interceptors: []}]",
            '"Is" is not a valid label selector operator',
        ),
    ],
)
def test_rules_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_rules(text, "rules.yaml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("rules.yaml: ")
    assert "\n" not in str(caught.value)


def test_no_rules() -> None:
    assert read_rules("", "rules.yaml") == ()
    assert read_rules("rules: []", "rules.yaml") == ()


async def moving(server: Embedded, opted_in: str = "", label: str = "") -> Obj:
    """A new pod of a Deployment, as the ReplicaSet controller sends it."""
    client = client_of(server)
    if label:
        await client.patch(NAMESPACES, "d", {"metadata": {"labels": {OPT_IN: label}}})
    made = deployment("web", namespace="d", replicas=1)
    made["metadata"]["annotations"] = {OPT_IN: opted_in} if opted_in else {}
    owner = controlled_by(DEPLOYMENTS, await client.create(DEPLOYMENTS, made, "d"))
    spec = {"selector": made["spec"]["selector"], "template": made["spec"]["template"]}
    middle = {"metadata": {"name": "web-1", "ownerReferences": [owner]}, "spec": spec}
    created = await client.create(REPLICASETS, middle, "d")
    sent = pod({"app": "web"})
    sent["metadata"]["ownerReferences"] = [controlled_by(REPLICASETS, created)]
    return sent


def controlled_by(kind: Kind, owner: Obj) -> Obj:
    meta = owner["metadata"]
    return controller_reference(kind, ObjectMeta(name=meta["name"], uid=meta["uid"]))


def client_of(server: Embedded) -> Client:
    return Client(InProcessTransport(server.server, ADMIN))


MOVES = ("replicaset.apps.k8s.io", "deployment.apps.k8s.io")


@pytest.mark.parametrize(
    ("opted_in", "label", "interceptors"),
    [("", "true", MOVES), ("true", "", MOVES), ("true", "false", MOVES), ("false", "true", ()), ("", "", ())],
)
async def test_new_pods_of_opted_in_deployments_are_registered(
    server: Embedded, hook: Hook, opted_in: str, label: str, interceptors: tuple[str, ...]
) -> None:
    sent = await moving(server, opted_in, label)
    made = (await hook.ask(MUTATE_WORKLOAD_PODS, of_pod(sent))).applied(sent)
    assert resolve(made).interceptors == interceptors
    assert (await hook.ask(MUTATE_WORKLOAD_PODS, of_pod(made))).patch == []
    stored = await client_of(server).create(PODS, sent, "d")
    assert resolve(stored).interceptors == interceptors


async def test_owners_that_are_not_there_register_nobody(server: Embedded, hook: Hook) -> None:
    sent = await moving(server, "true")
    sent["metadata"]["ownerReferences"][0]["uid"] = "of-another"
    assert (await hook.ask(MUTATE_WORKLOAD_PODS, of_pod(sent))).patch == []
    sent["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "controller": True}]
    assert (await hook.ask(MUTATE_WORKLOAD_PODS, of_pod(sent))).patch == []


async def test_what_the_author_registers_stays_beside_the_workload(server: Embedded, hook: Hook) -> None:
    sent = await moving(server, "true")
    sent["metadata"]["annotations"] = {f"{PREFIXES[0]}/priority_saver.example.com": "20"}
    made = (await hook.ask(MUTATE_WORKLOAD_PODS, of_pod(sent))).applied(sent)
    assert set(resolve(made).interceptors) == {*MOVES, "saver.example.com"}


RESPONDERS = [
    {"name": "vacate.dev/deployment", "priority": 10_000},
    {"name": "vacate.dev/horizontalpodautoscaler", "priority": 9_950},
    {"name": "vacate.dev/replicaset", "priority": 9_900},
]
AUTHORS = [{"name": "backup.example.com/backup", "priority": 20_000}]
LIFECYCLE = parse_feature_gates("LifecycleAPI=true")


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ({}, RESPONDERS),
        ({"evictionResponders": AUTHORS}, [*AUTHORS, *RESPONDERS]),
        ({"evictionResponders": [{**RESPONDERS[0], "priority": 30_000}]}, None),  # the author's own word
        ({"evictionResponders": [{**AUTHORS[0], "name": f"a.example.com/{n}"} for n in range(8)]}, None),
        ({"schedulingGroup": {"podGroupName": "all"}}, None),
    ],
)
async def test_new_pods_list_the_responders_of_their_workload(given: Obj, added: list[Obj] | None) -> None:
    """Never so that kube-apiserver would refuse the pod, and only where it has the field."""
    async with embedded(gates=LIFECYCLE) as server:
        hook = Hook.beside(server, WebhookConfig(LIFECYCLE))
        sent = await moving(server, "true")
        sent["spec"] |= given
        made = (await hook.ask(MUTATE_WORKLOAD_PODS, of_pod(sent))).applied(sent)
        assert made["spec"].get("evictionResponders") == (added or given.get("evictionResponders"))
        assert (await hook.ask(MUTATE_WORKLOAD_PODS, of_pod(made))).patch == []
        if "schedulingGroup" not in given:  # which the embedded server does not know
            stored = await client_of(server).create(PODS, sent, "d")
            assert stored["spec"].get("evictionResponders") == made["spec"].get("evictionResponders")
        closed = Hook.beside(server, WebhookConfig(LIFECYCLE.without("LifecycleAPI")))
        old = (await closed.ask(MUTATE_WORKLOAD_PODS, of_pod(sent))).applied(sent)
        assert old["spec"] == sent["spec"]
