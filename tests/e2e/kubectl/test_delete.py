"""`kubectl delete`: with grace, by force, with or without what depends on it."""

from __future__ import annotations

import pytest

from support.kubectl import Kubectl
from support.manifests import config_map, deployment, pod

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=2)]

SLOW = {"annotations": {"sim.vacate.dev/stop-seconds": "600"}}


def slow_pod(k: Kubectl, name: str) -> None:
    """A running pod that takes its time to stop."""
    made = pod(name, terminationGracePeriodSeconds=600)
    made["metadata"].update(SLOW)
    k("create --validate=false -f -", made).ok()
    k(f"wait --for=condition=Ready pod/{name} --timeout=60s").ok()


def test_a_pod_leaves_within_its_grace(k: Kubectl) -> None:
    slow_pod(k, "one")
    k("delete pod one --wait=false").printed('pod "one" deleted')
    assert k("get pod one").row("one")["STATUS"] == "Terminating"
    k("delete pod one --grace-period=1 --timeout=60s").printed('pod "one" deleted')
    k("get pod one").failed("NotFound")


def test_force_removes_at_once_what_was_confirmed(k: Kubectl, request: pytest.FixtureRequest) -> None:
    slow_pod(k, "one")
    # A cluster into which nothing is installed has no guard; a confirmation does no harm there.
    if "embedded" in request.node.name:
        k("delete pod one --grace-period=0 --force").failed("vacate.dev/confirm-force-delete")
    uid = k("get pod one -o jsonpath={.metadata.uid}").out
    k(f"annotate pod one vacate.dev/confirm-force-delete={uid}").ok()
    done = k("delete pod one --grace-period=0 --force")
    done.printed('pod "one" force deleted')
    assert "Immediate deletion does not wait" in done.err
    k("get pod one").failed("NotFound")


def test_now_means_one_second(k: Kubectl) -> None:
    slow_pod(k, "one")
    grace = "'{.metadata.deletionGracePeriodSeconds}{\"\\n\"}'"
    with k.start(f"get pod one -w -o jsonpath={grace}") as watching:
        assert watching.stdout is not None
        try:
            assert watching.stdout.readline() == "\n"  # it is watched, and not yet on its way
            k("delete pod one --now --wait=false").ok()
            assert next(line for line in watching.stdout if line != "\n") == "1\n"
        finally:
            watching.kill()
    k("wait --for=delete pod/one --timeout=60s").ok()


def test_background_takes_the_dependents_along(k: Kubectl) -> None:
    k("create --validate=false -f -", deployment("web", 1)).ok()
    k("rollout status deployment/web --timeout=60s").ok()
    k("delete deployment web --cascade=background").printed('deployment.apps "web" deleted')
    k("wait --for=delete rs,pod -l app=web --timeout=60s").ok()
    assert k("get deployment,rs,pods -o name").lines() == []


def test_foreground_ends_when_the_dependents_are_gone(k: Kubectl) -> None:
    k("create --validate=false -f -", deployment("web", 1)).ok()
    k("rollout status deployment/web --timeout=60s").ok()
    k("delete deployment web --cascade=foreground --timeout=60s").printed('deployment.apps "web" deleted')
    assert k("get deployment,rs,pods -o name").lines() == []


def test_orphans_stay(k: Kubectl) -> None:
    k("create --validate=false -f -", deployment("web", 1)).ok()
    k("rollout status deployment/web --timeout=60s").ok()
    k("delete deployment web --cascade=orphan --timeout=60s").ok()
    kept = k("get rs,pods -o json").json()["items"]
    assert [one["kind"] for one in kept] == ["ReplicaSet", "Pod"]
    assert "ownerReferences" not in kept[0]["metadata"]
    k("create --validate=false -f -", deployment("web", 1)).ok()
    k("rollout status deployment/web --timeout=60s").ok()
    adopted = k("get rs -o json").json()["items"]
    assert [one["metadata"]["uid"] for one in adopted] == [kept[0]["metadata"]["uid"]]
    assert adopted[0]["metadata"]["ownerReferences"][0]["name"] == "web"


def test_by_label_by_file_and_all(k: Kubectl) -> None:
    maps = [
        config_map(name, {}, labels={"x": x}) for name, x in (("a", "1"), ("b", "1"), ("c", "2"), ("d", "2"))
    ]
    k("create --validate=false -f -", maps).ok()
    assert len(k("delete cm -l x=1").lines()) == 2
    k("delete -f -", maps[2]).printed('configmap "c" deleted')
    assert k("get cm -o name").lines() == ["configmap/d"]
    k("delete cm --all --dry-run=server").printed('configmap "d" deleted', "(server dry run)")
    k("delete cm --all").printed('configmap "d" deleted')
    assert k("get cm -o name").lines() == []
    k("delete cm d").failed('configmaps "d" not found')
    assert k("delete cm d --ignore-not-found").ok() == ""


def test_a_finalizer_holds_an_object(k: Kubectl) -> None:
    k("create --validate=false -f -", config_map("a", {}, finalizers=["example.com/hold"])).ok()
    k("delete cm a --timeout=1s").failed("timed out waiting for the condition")
    k("get cm a").row("a")
    k('patch cm a --type=merge -p \'{"metadata":{"finalizers":null}}\'').ok()
    k("wait --for=delete cm/a --timeout=60s").ok()
