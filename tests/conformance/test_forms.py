"""Other forms of the same objects: Tables and bare metadata."""

from __future__ import annotations

import pytest

from support.arms.caseapi import CaseApi, types_and_names
from support.arms.kinds import STORED, minimal
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import config_map, named, pod
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    CONTROLLERREVISIONS,
    CRONJOBS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVENTS,
    HORIZONTALPODAUTOSCALERS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PODTEMPLATES,
    PRIORITYCLASSES,
    REPLICASETS,
    ROLEBINDINGS,
    ROLES,
    STATEFULSETS,
    STORAGECLASSES,
    VALIDATINGADMISSIONPOLICIES,
    VALIDATINGADMISSIONPOLICYBINDINGS,
    Kind,
)
from vacate.install.manifests.policyobjects import rule_about

pytestmark = [CONFORMANCE, without("kubectl", because="kubectl --raw sends no Accept header of one's choice")]

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_WORKLOAD = ["Age", "Containers", "Images", "Selector"]
_BINDING = ["Name", "Role", "Age", "Users", "Groups", "ServiceAccounts"]
COLUMNS: dict[Kind, list[str]] = {
    NAMESPACES: ["Name", "Status", "Age"],
    NODES: [
        "Name", "Status", "Roles", "Age", "Version", "Internal-IP", "External-IP", "OS-Image",
        "Kernel-Version", "Container-Runtime",
    ],
    PODS: [
        "Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates",
    ],
    EVENTS: [
        "Last Seen", "Type", "Reason", "Object", "Subobject", "Source", "Message", "First Seen", "Count",
        "Name",
    ],
    CONFIGMAPS: ["Name", "Data", "Age"],
    PERSISTENTVOLUMES: [
        "Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass",
        "VolumeAttributesClass", "Reason", "Age", "VolumeMode",
    ],
    PERSISTENTVOLUMECLAIMS: [
        "Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass",
        "Age", "VolumeMode",
    ],
    STORAGECLASSES: [
        "Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age",
    ],
    DEPLOYMENTS: ["Name", "Ready", "Up-to-date", "Available", *_WORKLOAD],
    REPLICASETS: ["Name", "Desired", "Current", "Ready", *_WORKLOAD],
    STATEFULSETS: ["Name", "Ready", "Age", "Containers", "Images"],
    DAEMONSETS: [
        "Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", *_WORKLOAD,
    ],
    CONTROLLERREVISIONS: ["Name", "Controller", "Revision", "Age"],
    JOBS: ["Name", "Status", "Completions", "Duration", *_WORKLOAD],
    CRONJOBS: ["Name", "Schedule", "Timezone", "Suspend", "Active", "Last Schedule", *_WORKLOAD],
    PODTEMPLATES: ["Name", "Containers", "Images", "Pod Labels"],
    HORIZONTALPODAUTOSCALERS: ["Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"],
    PODDISRUPTIONBUDGETS: ["Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age"],
    LEASES: ["Name", "Holder", "Age"],
    PRIORITYCLASSES: ["Name", "Value", "Global-Default", "Age", "PreemptionPolicy"],
    ROLES: ["Name", "Created At"],
    CLUSTERROLES: ["Name", "Created At"],
    ROLEBINDINGS: _BINDING,
    CLUSTERROLEBINDINGS: _BINDING,
    VALIDATINGADMISSIONPOLICIES: ["Name", "Validations", "ParamKind", "Age"],
    VALIDATINGADMISSIONPOLICYBINDINGS: ["Name", "PolicyName", "ParamRef", "Age"],
}  # fmt: skip


@pytest.mark.parametrize("kind", STORED, ids=lambda kind: kind.plural)
async def test_a_table_of_one(api: CaseApi, kind: Kind) -> None:
    created = await api.given(kind, minimal(kind, api.unique("it"), api.namespace))
    name = created["metadata"]["name"]
    table = await api.get(kind, name, accept=TABLE)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    titles = [column["name"] for column in table["columnDefinitions"]]
    assert titles == COLUMNS.get(kind, titles)
    (row,) = table["rows"]
    assert row["cells"][titles.index("Name")] == name
    assert len(row["cells"]) == len(titles)
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["uid"] == created["metadata"]["uid"]


async def test_a_table_of_a_list(api: CaseApi) -> None:
    for name in ("a", "b"):
        await api.given(CONFIGMAPS, config_map(name, {"mine": "yes"}, k="v"))
    table = await api.listed(CONFIGMAPS, {"labelSelector": "mine"}, accept=TABLE)
    assert [row["cells"][:2] for row in table["rows"]] == [["a", 1], ["b", 1]]
    assert table["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("include", "kind"), [("Object", "ConfigMap"), ("Metadata", "PartialObjectMetadata")]
)
async def test_rows_with_their_objects(api: CaseApi, include: str, kind: str) -> None:
    await api.given(CONFIGMAPS, config_map("m", k="v"))
    table = await api.get(CONFIGMAPS, "m", accept=TABLE, query={"includeObject": include})
    assert table["rows"][0]["object"]["kind"] == kind


async def test_rows_without_their_objects(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    table = await api.get(CONFIGMAPS, "m", accept=TABLE, query={"includeObject": "None"})
    assert not table["rows"][0].get("object")


async def test_rows_of_admission_policies(api: CaseApi) -> None:
    name, rule = api.unique("p"), rule_about(CONFIGMAPS, ["CREATE"])
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]}
    spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    await api.given(VALIDATINGADMISSIONPOLICIES, named(name, spec=spec))
    ref = {"namespace": api.namespace, "name": "limits", "parameterNotFoundAction": "Allow"}
    bound = {"policyName": name, "validationActions": ["Deny"], "paramRef": ref}
    await api.given(VALIDATINGADMISSIONPOLICYBINDINGS, named(name, spec=bound))
    for kind, cells in (
        (VALIDATINGADMISSIONPOLICIES, [name, 1, "v1/ConfigMap"]),
        (VALIDATINGADMISSIONPOLICYBINDINGS, [name, name, f"{api.namespace}/limits"]),
    ):
        (row,) = (await api.get(kind, name, accept=TABLE))["rows"]
        assert row["cells"][:3] == cells


async def test_what_a_pods_row_says(api: CaseApi) -> None:
    await api.given(PODS, pod("p", node="n"))
    table = await api.get(PODS, "p", accept=TABLE)
    assert table["rows"][0]["cells"][:4] == ["p", "0/1", "Pending", "0"]
    await api.arm.drop(api.at(PODS, "p"))
    table = await api.get(PODS, "p", accept=TABLE)
    assert table["rows"][0]["cells"][2] == "Terminating"


async def test_a_watch_of_tables(api: CaseApi) -> None:
    version = await api.version(CONFIGMAPS)
    for name in ("a", "b"):
        await api.given(CONFIGMAPS, config_map(name, {"mine": "yes"}))
    query = {"resourceVersion": version, "labelSelector": "mine"}
    events = await api.watch(CONFIGMAPS, query, 2, accept=TABLE)
    assert [event.obj["kind"] for event in events] == ["Table", "Table"]
    assert [event.obj["rows"][0]["cells"][0] for event in events] == ["a", "b"]
    assert [bool(event.obj.get("columnDefinitions")) for event in events] == [True, False]


async def test_bare_metadata_of_one(api: CaseApi) -> None:
    created = await api.given(CONFIGMAPS, config_map("m", k="v"))
    bare = await api.get(CONFIGMAPS, "m", accept=METADATA)
    assert (bare["kind"], bare["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert bare["metadata"]["uid"] == created["metadata"]["uid"]
    assert "data" not in bare


async def test_bare_metadata_of_a_list(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m", {"mine": "yes"}, k="v"))
    bare = await api.listed(CONFIGMAPS, {"labelSelector": "mine"}, accept=METADATA_LIST)
    assert (bare["kind"], bare["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert [item["metadata"]["name"] for item in bare["items"]] == ["m"]
    assert "data" not in bare["items"][0]


async def test_bare_metadata_of_a_watch(api: CaseApi) -> None:
    version = await api.version(CONFIGMAPS)
    await api.given(CONFIGMAPS, config_map("m", k="v"))
    query = {"resourceVersion": version, "fieldSelector": "metadata.name=m"}
    events = await api.watch(CONFIGMAPS, query, 1, accept=METADATA)
    assert types_and_names(events) == [("ADDED", "m")]
    assert events[0].obj["kind"] == "PartialObjectMetadata"
    assert "data" not in events[0].obj


async def test_the_first_form_that_fits(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    accept = f"application/x-nothing, {TABLE}, application/json"
    assert (await api.get(CONFIGMAPS, "m", accept=accept))["kind"] == "Table"
    assert (await api.get(CONFIGMAPS, "m", accept="*/*"))["kind"] == "ConfigMap"


@pytest.mark.parametrize("accept", ["application/xml", "text/html"])
async def test_forms_that_nobody_has(api: CaseApi, accept: str) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    answer = await api.ask("GET", CONFIGMAPS, "m", accept=accept)
    start = "406: Not Acceptable\n\nAvailable representations: application/json"
    answer.refused(406, "NotAcceptable", starting=start)
