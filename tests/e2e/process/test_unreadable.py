"""The commands show what cannot be decoded as unreadable, and everything else as ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hostile.api import HostileApi, hostile_api, kubeconfig
from support.processes.screens import Shown, run
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from views.explanation_inputs import EXPLANATION_INPUTS

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

BAD = {"expectedInterceptorFinishTime": "9999-12-31T23:59:59.9999999Z"}


@pytest.fixture(scope="module")
def api() -> Iterator[HostileApi]:
    with hostile_api() as running:
        sim = EXPLANATION_INPUTS["handed over after silence"]()
        running.serve(sim.pod, sim.request, sim.budgets, names=False)
        running.tiny.put(PODS, "bad", spec={})
        uid = running.tiny.objects[(PODS.resource, "default", "bad")]["metadata"]["uid"]
        spec = {"target": {"podRef": {"name": "bad", "uid": uid}}}
        running.tiny.put(EVICTIONREQUESTS, uid, spec=spec, status=BAD)
        yield running


def command(api: HostileApi, folder: Path, *arguments: str, until: str = "") -> Shown:
    config = kubeconfig(folder, f"http://127.0.0.1:{api.port}")
    stop = (lambda text: until in text) if until else None
    return run(*arguments, variables={"KUBECONFIG": str(config)}, stop_when=stop)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("follow", [False, True])
def test_status_has_a_row_for_it(api: HostileApi, tmp_path: Path, follow: bool) -> None:
    arguments = ("status", "-A", "-w") if follow else ("status", "-A")
    shown = command(api, tmp_path, *arguments, until="Unreadable" if follow else "")
    assert "Traceback" not in shown.plain
    assert any("web-1" in line for line in shown.plain.splitlines())
    assert any("Unreadable" in line for line in shown.plain.splitlines())


@pytest.mark.parametrize("arguments", [("explain", "bad"), ("cancel", "bad", "--requester", "a.example.com")])
def test_other_commands_say_what_is_wrong_and_what_to_do(
    api: HostileApi, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    shown = command(api, tmp_path, *arguments)
    assert shown.code != 0
    assert "Traceback" not in shown.plain
    assert "cannot be decoded" in shown.plain
    assert "status.expectedInterceptorFinishTime" in shown.plain
    assert "kubectl edit evictionrequest" in shown.plain
