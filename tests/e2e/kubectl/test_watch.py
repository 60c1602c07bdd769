"""`kubectl get -w`: what changes is printed while it changes."""

from __future__ import annotations

import contextlib
import itertools
import select
import subprocess
from collections.abc import Iterator

import pytest

from support.kubectl import Kubectl
from support.manifests import config_map, pod

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=1)]


class Watching:
    """The lines of a `kubectl get -w` under way; a test's time limit bounds the wait for them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._out = process.stdout

    def cells(self) -> list[str]:
        """The words of the next line."""
        line = self._out.readline()
        assert line, "the watch ended"
        return line.split()

    def state_of(self, pod: str) -> list[str]:
        """The state in the next line, where that is about the pod."""
        name, _ready, state, *_ = self.cells()
        return [state] if name == pod else []

    def anything(self, seconds: float) -> bool:
        """Whether something is printed within that time."""
        return bool(select.select([self._out], [], [], seconds)[0])


@contextlib.contextmanager
def watching(k: Kubectl, command: str) -> Iterator[Watching]:
    with k.start(command) as process:
        try:
            yield Watching(process)
        finally:
            process.kill()


def test_a_watch_prints_what_is_there_and_then_every_change(k: Kubectl) -> None:
    k("create configmap a --from-literal=x=1").ok()
    with watching(k, "get configmap a -w --output-watch-events") as seen:
        assert seen.cells()[:2] == ["EVENT", "NAME"]
        assert seen.cells()[:3] == ["ADDED", "a", "1"]
        k('patch configmap a --type=merge -p \'{"data":{"y":"2"}}\'').ok()
        assert seen.cells()[:3] == ["MODIFIED", "a", "2"]
        k("delete configmap a").ok()
        assert seen.cells()[:3] == ["DELETED", "a", "2"]


def test_watch_only_leaves_out_what_was_there(k: Kubectl) -> None:
    k("create configmap old").ok()
    with watching(k, "get configmap --watch-only --output-watch-events --no-headers") as seen:
        # Nothing tells when the watch has begun, so there is news until it reports some.
        for number in itertools.count():
            k(f"create configmap new-{number}").ok()
            if seen.anything(0.2):
                break
        event, name, *_ = seen.cells()
    assert event == "ADDED"
    assert name.startswith("new-")


def test_entering_and_leaving_a_selection(k: Kubectl) -> None:
    k("create configmap a").ok()
    k("create --validate=false -f -", config_map("sign", {}, labels={"w": "1"})).ok()
    with watching(k, "get configmap -l w=1 -w --output-watch-events --no-headers") as seen:
        assert seen.cells()[:2] == ["ADDED", "sign"]
        k("label configmap a w=1").ok()
        assert seen.cells()[:2] == ["ADDED", "a"]
        k("label configmap a w-").ok()
        assert seen.cells()[:2] == ["DELETED", "a"]


def test_a_pod_is_watched_through_its_life(k: Kubectl) -> None:
    k("create --validate=false -f -", pod("sign", nodeSelector={"no": "such"})).ok()
    with watching(k, "get pods -w --no-headers") as seen:
        assert seen.cells()[:3] == ["sign", "0/1", "Pending"]
        k("run one --image=one:1").ok()
        states: list[str] = []
        while "Running" not in states:
            states += seen.state_of("one")
        k("delete pod one --wait=false").ok()
        while "Terminating" not in states:
            states += seen.state_of("one")
    assert states[0] == "Pending"
    assert "ContainerCreating" in states


def test_whole_objects_can_be_watched(k: Kubectl) -> None:
    k("create configmap a --from-literal=x=1").ok()
    with watching(k, "get configmap a -w -o jsonpath='{.metadata.name}={.data.x}{\"\\n\"}'") as seen:
        assert seen.cells() == ["a=1"]
        k('patch configmap a -p \'{"data":{"x":"2"}}\'').ok()
        assert seen.cells() == ["a=2"]
