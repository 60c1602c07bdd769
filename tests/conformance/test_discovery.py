"""Discovery in both forms, health and version."""

from __future__ import annotations

import pytest

from support.arms.arm import ANONYMOUS, Arm, Obj
from support.arms.kinds import STOCK
from support.arms.marks import CONFORMANCE, without
from vacate.api.kinds import Kind

pytestmark = CONFORMANCE

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
prompted = without("kubectl", because="kubectl asks for a name and a password rather than go without")
VERSIONS = {kind.group: kind.version for kind in STOCK if kind.group}
GROUPS = sorted(VERSIONS)


def root(kind: Kind) -> str:
    return f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"


@pytest.mark.parametrize("kind", STOCK, ids=lambda kind: kind.plural)
async def test_a_kind(arm: Arm, kind: Kind) -> None:
    listed = (await arm.call("GET", root(kind))).ok()
    assert (listed["kind"], listed["groupVersion"]) == ("APIResourceList", kind.api_version)
    (found,) = [one for one in listed["resources"] if one["name"] == kind.plural]
    assert (found["kind"], found["namespaced"]) == (kind.kind, kind.namespaced)
    assert found["singularName"] == kind.singular
    assert sorted(found["verbs"]) == sorted(kind.verbs)
    assert found.get("shortNames", []) == list(kind.short_names)
    assert found.get("categories", []) == list(kind.categories)


SUBRESOURCES = [(kind, sub) for kind in STOCK for sub in kind.subresources]


@pytest.mark.parametrize(
    "index", range(len(SUBRESOURCES)), ids=lambda i: f"{SUBRESOURCES[i][0].plural}.{SUBRESOURCES[i][1].name}"
)
async def test_a_subresource(arm: Arm, index: int) -> None:
    kind, sub = SUBRESOURCES[index]
    listed = (await arm.call("GET", root(kind))).ok()
    (found,) = [one for one in listed["resources"] if one["name"] == f"{kind.plural}/{sub.name}"]
    assert found["kind"] == (sub.kind or kind.kind)
    assert sorted(found["verbs"]) == sorted(sub.verbs)
    assert found["namespaced"] == kind.namespaced
    if sub.name in ("scale", "eviction"):
        assert (found["group"], found["version"]) == (sub.group, sub.version)


async def test_versions_of_the_core(arm: Arm) -> None:
    listed = (await arm.call("GET", "/api")).ok()
    assert (listed["kind"], listed["versions"]) == ("APIVersions", ["v1"])


async def test_groups(arm: Arm) -> None:
    listed = (await arm.call("GET", "/apis")).ok()
    assert listed["kind"] == "APIGroupList"
    assert {group["name"] for group in listed["groups"]} >= set(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
async def test_a_group(arm: Arm, group: str) -> None:
    found = (await arm.call("GET", f"/apis/{group}")).ok()
    version = {"groupVersion": f"{group}/{VERSIONS[group]}", "version": VERSIONS[group]}
    assert (found["kind"], found["name"]) == ("APIGroup", group)
    assert version in found["versions"]
    assert found["preferredVersion"] == version


@without("kubectl", because="kubectl --raw sends no Accept header of one's choice")
@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_everything_at_once(arm: Arm, path: str) -> None:
    listed = (await arm.call("GET", path, accept=f"{AGGREGATED},application/json")).ok()
    assert (listed["kind"], listed["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    served = {(kind.group, kind.plural): kind for kind in STOCK if bool(kind.group) == (path == "/apis")}
    found = {
        (item["metadata"].get("name", ""), resource["resource"]): resource
        for item in listed["items"]
        for version in item["versions"]
        if version["version"] == VERSIONS.get(item["metadata"].get("name", ""), "v1")
        for resource in version["resources"]
    }
    for key, kind in served.items():
        _compare(found[key], kind)


def _compare(resource: Obj, kind: Kind) -> None:
    assert resource["scope"] == ("Namespaced" if kind.namespaced else "Cluster")
    assert resource["singularResource"] == kind.singular
    assert sorted(resource["verbs"]) == sorted(kind.verbs)
    # Group and version are those of the resource, so that they are not repeated.
    assert resource["responseKind"] == {"group": "", "version": "", "kind": kind.kind}
    subs = {sub["subresource"] for sub in resource.get("subresources", ())}
    assert subs >= {sub.name for sub in kind.subresources}


@without("kubectl", because="kubectl --raw sends no Accept header of one's choice")
@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps", "/api/v1", "/apis/apps/v1"])
@pytest.mark.parametrize("accept", ["application/xml", "application/json;as=Table;v=v1;g=meta.k8s.io"])
async def test_forms_that_discovery_does_not_have(arm: Arm, path: str, accept: str) -> None:
    answer = await arm.call("GET", path, accept=accept)
    routed = accept == "application/xml" and path not in ("/apis", "/apis/apps")
    words = (
        "406: Not Acceptable\n\nAvailable representations:" if routed else "only the following media types"
    )
    answer.refused(406, "NotAcceptable", starting=words)


@without("kubectl", because="kubectl --raw sends no Accept header of one's choice")
async def test_a_form_of_discovery_and_a_plain_one(arm: Arm) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    assert (await arm.call("GET", "/api/v1", accept=accept)).ok()["kind"] == "APIResourceList"


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
async def test_health(arm: Arm, path: str) -> None:
    answer = await arm.call("GET", path)
    answer.ok()
    assert answer.text == "ok"
    verbose = await arm.call("GET", path, query={"verbose": "true"})
    verbose.ok()
    assert "[+]ping ok" in verbose.text.splitlines()
    assert verbose.text.endswith(f"{path.removeprefix('/')} check passed\n")
    single = await arm.call("GET", f"{path}/ping")
    assert single.text == "ok"


async def test_version(arm: Arm) -> None:
    version = (await arm.call("GET", "/version")).ok()
    assert version["major"] == "1"
    assert int(version["minor"].rstrip("+")) >= 33
    assert version["gitVersion"].startswith(f"v1.{version['minor'].rstrip('+')}.")


@without("kubectl", because="kubectl --raw sends no Accept header of one's choice")
async def test_forms_of_the_version(arm: Arm) -> None:
    answer = await arm.call("GET", "/version", accept="application/xml")
    words = "406: Not Acceptable\n\nAvailable representations: application/json"
    answer.refused(406, "NotAcceptable", words)
    named = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert (await arm.call("GET", "/version", accept=named)).ok()["major"] == "1"


@prompted
@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version"])
async def test_what_everybody_may_see(arm: Arm, path: str) -> None:
    (await arm.call("GET", path, as_user=ANONYMOUS)).ok()


@prompted
@pytest.mark.parametrize("path", ["/api", "/apis", "/metrics", "/nothing", "/livez/ping"])
async def test_what_nobody_unknown_may_see(arm: Arm, path: str) -> None:
    answer = await arm.call("GET", path, as_user=ANONYMOUS)
    message = f'forbidden: User "system:anonymous" cannot get path "{path}"'
    answer.refused(403, "Forbidden", message)


@prompted
async def test_what_nobody_unknown_may_list(arm: Arm) -> None:
    answer = await arm.call("GET", "/api/v1/pods", as_user=ANONYMOUS)
    why = 'User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope'
    answer.refused(403, "Forbidden", f"pods is forbidden: {why}")
