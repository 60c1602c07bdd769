"""`kubectl rollout`, and `kubectl wait` for what comes of it."""

from __future__ import annotations

import pytest

from support.kubectl import Kubectl
from support.manifests import deployment, pod

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=1)]


@pytest.fixture
def web(k: Kubectl) -> Kubectl:
    """A Deployment that has been rolled out twice: web:1, then web:2."""
    k("create --validate=false -f -", deployment("web", 2)).ok()
    rolled_out(k)
    k("set image deployment/web web=web:2").ok()
    rolled_out(k)
    return k


def rolled_out(k: Kubectl) -> None:
    k("rollout status deployment/web --timeout=60s").printed('deployment "web" successfully rolled out')


def image(k: Kubectl) -> str:
    return k("get deployment web -o jsonpath='{.spec.template.spec.containers[0].image}'").ok()


def revisions(k: Kubectl) -> list[str]:
    lines = k("rollout history deployment/web").lines()
    return [line.split()[0] for line in lines if line[:1].isdigit()]


def test_history_and_undo(web: Kubectl) -> None:
    assert revisions(web) == ["1", "2"]
    web("rollout history deployment/web --revision=1").printed("web:1")
    web("rollout undo deployment/web").printed("deployment.apps/web rolled back")
    rolled_out(web)
    assert image(web) == "web:1"
    assert revisions(web) == ["2", "3"]
    web("rollout undo deployment/web --to-revision=2").ok()
    rolled_out(web)
    assert image(web) == "web:2"
    web("rollout undo deployment/web --to-revision=9").failed("unable to find specified revision 9")
    images = {row["IMAGES"]: row["READY"] for row in web("get rs -o wide").rows()}
    assert images == {"web:1": "0", "web:2": "2"}


def test_restart_replaces_every_pod(web: Kubectl) -> None:
    before = set(web("get pods -o name").lines())
    web("rollout restart deployment/web").printed("deployment.apps/web restarted")
    rolled_out(web)
    web("wait --for=delete --timeout=60s " + " ".join(sorted(before))).ok()
    after = set(web("get pods -o name").lines())
    assert len(after) == 2
    assert not before & after


def test_pause_and_resume(web: Kubectl) -> None:
    web("rollout pause deployment/web").printed("deployment.apps/web paused")
    web("set image deployment/web web=web:3").ok()
    web("rollout pause deployment/web").failed("is already paused")
    web("rollout undo deployment/web").failed("paused")
    assert revisions(web) == ["1", "2"]
    web("rollout resume deployment/web").printed("deployment.apps/web resumed")
    rolled_out(web)
    assert revisions(web) == ["1", "2", "3"]


def test_a_rollout_that_cannot_end_is_reported(k: Kubectl) -> None:
    k("create --validate=false -f -", deployment("web", 1, nodeSelector={"no": "such"})).ok()
    seen = "get deployment web -o jsonpath={.status.updatedReplicas}/{.status.unavailableReplicas}"
    k.until(seen, lambda ran: ran.out == "1/1")  # by its controller, before we give up waiting
    done = k("rollout status deployment/web --timeout=3s")
    done.failed("timed out waiting")
    assert "0 of 1 updated replicas are available" in done.out
    assert k("get pods").rows()[0]["STATUS"] == "Pending"
    events = k.until("get events --field-selector reason=FailedScheduling", lambda ran: ran.out).rows()
    assert "0/3 nodes are available" in events[0]["MESSAGE"]


def test_wait_for_conditions(web: Kubectl) -> None:
    web("wait --for=condition=Available deployment/web --timeout=60s").printed(
        "deployment.apps/web condition met"
    )
    assert len(web("wait --for=condition=Ready pod -l app=web --timeout=60s").lines()) == 2
    web("create --validate=false -f -", pod("never", nodeSelector={"no": "such"})).ok()
    web("wait --for=condition=Ready pod/never --timeout=1s").failed("timed out waiting for the condition")
    web("wait --for=condition=Ready=false pod/never --timeout=1s").failed("timed out")
    web("wait --for=condition=PodScheduled=false pod/never --timeout=60s").printed("pod/never condition met")
    web("wait --for=jsonpath={.status.readyReplicas}=2 deployment/web --timeout=60s").printed(
        "deployment.apps/web condition met"
    )


def test_wait_for_deletion(k: Kubectl) -> None:
    k("run one --image=x:1").ok()
    k("wait --for=condition=Ready pod/one --timeout=60s").ok()
    k("delete pod one --wait=false").ok()
    k("wait --for=delete pod/one --timeout=60s").ok()
    k("get pod one").failed("NotFound")
