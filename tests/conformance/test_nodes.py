"""Nodes: the parts of them that a server looks at."""

from __future__ import annotations

import pytest

from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import named
from vacate.api.kinds import NODES

pytestmark = CONFORMANCE

RANGES = {
    "old-name": ({"podCIDR": "10.0.0.0/24"}, ["10.0.0.0/24"]),
    "new-name": ({"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}, ["10.0.0.0/24", "fd00::/64"]),
    "both-differ": ({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.1.0.0/24"]}, ["10.0.0.0/24"]),
}


@pytest.mark.parametrize("case", RANGES)
async def test_ranges_have_two_names(api: CaseApi, case: str) -> None:
    spec, ranges = RANGES[case]
    made = await api.create(NODES, named(api.unique("n"), spec=spec))
    assert (made["spec"]["podCIDR"], made["spec"]["podCIDRs"]) == (ranges[0], ranges)


NO_RANGE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
TWICE = 'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]'
ONCE = "may specify no more than one CIDR for each IP family"
BAD_RANGES = {
    "no-range": (["x"], f'spec.podCIDRs[0]: Invalid value: "x": {NO_RANGE}'),
    "an-address": (["10.0.0.1"], f'spec.podCIDRs[0]: Invalid value: "10.0.0.1": {NO_RANGE}'),
    "too-wide": (["10.0.0.0/33"], f'spec.podCIDRs[0]: Invalid value: "10.0.0.0/33": {NO_RANGE}'),
    "leading-zeroes": (
        ["010.0.0.0/24"],
        'spec.podCIDRs[0]: Invalid value: "010.0.0.0/24": must not have leading 0s in IP or prefix length',
    ),
    "mapped": (
        ["::ffff:10.0.0.0/120"],
        'spec.podCIDRs[0]: Invalid value: "::ffff:10.0.0.0/120": must not have an IPv4-mapped IPv6 address',
    ),
    "more-than-the-prefix": (
        ["10.0.0.1/24"],
        'spec.podCIDRs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length',
    ),
    "one-family-twice": (["10.0.0.0/24", "10.1.0.0/24"], f"{TWICE}: {ONCE}"),
}


@pytest.mark.parametrize("case", BAD_RANGES)
async def test_bad_ranges(api: CaseApi, case: str) -> None:
    ranges, field_error = BAD_RANGES[case]
    answer = await api.post(NODES, named(api.unique("n"), spec={"podCIDRs": ranges}))
    answer.refused(422, "Invalid", field_errors=[field_error])


async def test_an_external_id_is_for_ever(api: CaseApi) -> None:
    name = api.unique("n")
    await api.given(NODES, named(name, spec={"externalID": "a"}))
    answer = await api.patch(NODES, name, {"spec": {"externalID": "b"}})
    answer.refused(422, "Invalid", field_errors=["spec.externalID: Forbidden: may not be updated"])


async def test_configuration_from_elsewhere_is_out_of_use(api: CaseApi) -> None:
    made = await api.create(NODES, named(api.unique("n"), spec={"configSource": {}}))
    assert "configSource" not in made["spec"]
