"""A caller of the eviction API: gets past no interceptor, and no company's own webhook by the bridge."""

from __future__ import annotations

import pytest

from support.https import Obj
from support.realcluster.adversary import (
    PREPARE,
    ROLES,
    ROWS,
    Site,
    held_by,
    held_in_code,
    refused,
)
from vacate.api.installednames import EVICTION_SIZE
from vacate.api.kinds import PODS
from vacate.api.terminationreason import ANNOTATION

pytestmark = ROWS
REFUSAL = "not by company policy"

LARGE: dict[str, Obj] = {
    # Each of these characters takes six in a review.
    "annotation": {"annotations": {"example.com/large": "<" * 1_500_000}},
    "label": {"labels": {"large": "<" * 1_500_000}},
    "finalizer": {"finalizers": ["<" * 1_500_000]},
    "version": {"resourceVersion": "<" * 1_500_000},
    "owners": {"ownerReferences": [{"name": "<" * 15_000, "uid": str(n)} for n in range(100)]},
}


class TestCaller:
    @held_by(EVICTION_SIZE)
    @pytest.mark.parametrize("part", LARGE)
    def test_evicts_nothing_past_interceptors_with_an_eviction_that_is_oversized(
        self, site: Site, part: str
    ) -> None:
        """An eviction passes where the webhook does not read its review, as it is too large."""
        pod = site.pod(PREPARE)
        name = pod["metadata"]["name"]
        refused(site.tenant.evict(name, metadata={"name": name, **LARGE[part]}), EVICTION_SIZE)
        assert site.there(pod)


class TestRefusedCaller:
    @held_in_code("bridge-checks-callers")
    @pytest.mark.parametrize("seconds", [0.0, 1.0], ids=["at once", "slowly"])
    def test_gets_no_request_for_an_eviction_that_others_refuse(self, site: Site, seconds: float) -> None:
        """Webhooks are called side by side, and the API server shows the first refusal only."""
        pod = site.pod(PREPARE)
        with site.company.refusing(site.tenant.user, seconds=seconds):
            refused(site.tenant.evict(pod["metadata"]["name"]), REFUSAL)
        assert site.requested(pod) is None
        assert site.there(pod)

    @held_in_code("bridge-checks-callers")
    def test_joins_no_request(self, site: Site) -> None:
        pod = site.pod(PREPARE)
        site.admin.request(pod, "admin.example.com").ok()
        with site.company.refusing(site.tenant.user):
            refused(site.tenant.evict(pod["metadata"]["name"]), REFUSAL)
        found = site.requested(pod)
        assert found is not None
        assert [one["name"] for one in found["spec"]["requesters"]] == ["admin.example.com"]

    @held_by(ROLES)
    def test_without_the_right_gets_none_either(self, site: Site) -> None:
        pod = site.pod(PREPARE)
        refused(site.agent.evict(pod["metadata"]["name"]))
        assert site.requested(pod) is None

    @held_in_code("row-each-caller")
    def test_whom_nobody_refuses_gets_one(self, site: Site) -> None:
        pod = site.pod(PREPARE)
        with site.company.refusing(site.other_tenant.user):
            assert site.tenant.evict(pod["metadata"]["name"]).code == 429
        assert site.requested(pod) is not None

    @held_in_code("reasons-of-evictions-that-others-refuse")
    def test_leaves_no_reason_on_a_pod_whose_eviction_others_refuse(self, site: Site) -> None:
        pod = site.pod()
        with site.company.refusing(site.tenant.user, seconds=0.5):
            refused(site.tenant.evict(pod["metadata"]["name"]), REFUSAL)
        kept = site.admin.get(PODS, pod["metadata"]["name"]).ok()
        assert ANNOTATION not in kept["metadata"].get("annotations", {})
