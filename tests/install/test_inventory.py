"""The notes about an installation: each object a line, and nothing else becomes an object."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.install import Monitoring, Settings, objects
from vacate.install.apply.inventory import inventory, line_of, object_of
from vacate.install.apply.pruner import leftovers
from vacate.install.objectkinds import path_of
from vacate.install.objects import everything

pytestmark = pytest.mark.unit

HERE = "vacate-system"


def test_a_line_leads_to_its_object() -> None:
    for obj in everything(HERE):
        found = object_of(line_of(obj))
        assert found is not None, line_of(obj)
        assert path_of(found) == path_of(obj)
        assert line_of(found) == line_of(obj)


def test_all_of_it_fits_into_a_config_map() -> None:
    lines = [line_of(obj) for obj in everything(HERE)]
    assert len(set(lines)) == len(lines)
    assert len(inventory(HERE, lines)["data"]["objects"]) < 20_000  # a ConfigMap takes 1 MiB


NO_OBJECTS = [
    "", " ", "v1 ConfigMap", "v1 ConfigMap ", "v1 ConfigMap a/b/c", "v1 ConfigMap /a", "v1 ConfigMap a/",
    "v1 ConfigMap a/..", "v1 ConfigMap ../a", "v1 ConfigMap a/%2e%2e", "v1 ConfigMap a/b?dryRun=All",
    "v1 ConfigMap a/b\x1b[2J", "v1 Node n", "v2 ConfigMap a/b", "v1  ConfigMap a/b", "v1 ConfigMap a/b c",
]  # fmt: skip


@pytest.mark.parametrize("line", NO_OBJECTS)
def test_what_is_no_line_is_no_object(line: str) -> None:
    assert object_of(line) is None


@given(st.text())
def test_no_line_breaks_anything(where: str) -> None:
    for line in (where, f"v1 ConfigMap {where}", f"v1 ConfigMap a/{where}"):
        found = object_of(line)
        assert found is None or line_of(found) == line


def test_leftovers_are_what_could_be_there_and_is_not_wanted() -> None:
    wanted = objects(Settings())
    assert not {line_of(obj) for obj in wanted} & {line_of(obj) for obj in leftovers(wanted, (), HERE)}
    watched = objects(Settings(monitoring=Monitoring.everything()))
    gone = {line_of(obj) for obj in leftovers(wanted, (), HERE)}
    assert {line_of(obj) for obj in watched} - {line_of(obj) for obj in wanted} <= gone
    noted = ["v1 ConfigMap elsewhere/x", "no object"]
    assert noted[0] in {line_of(obj) for obj in leftovers(wanted, noted, HERE)}


def test_webhook_configurations_go_first_of_what_is_left() -> None:
    kinds = [obj["kind"] for obj in leftovers([], (), HERE)]
    assert kinds[:2] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    assert kinds[-1] == "Namespace"
