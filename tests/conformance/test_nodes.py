"""Nodes: the parts of them that a server looks at."""

from __future__ import annotations

from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import named
from vacate.api.kinds import NODES

pytestmark = CONFORMANCE


async def test_configuration_from_elsewhere_is_out_of_use(api: CaseApi) -> None:
    made = await api.create(NODES, named(api.unique("n"), spec={"configSource": {}}))
    assert "configSource" not in made["spec"]
