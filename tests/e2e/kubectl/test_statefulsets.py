"""StatefulSets and DaemonSets through kubectl: status, history, undo, scale, restart."""

from __future__ import annotations

import pytest

from support.kubectl import Kubectl
from support.manifests import daemonset, statefulset

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=1)]


def rolled_out(k: Kubectl, what: str) -> None:
    k(f"rollout status {what} --timeout=60s").ok()


def revisions(k: Kubectl, what: str) -> list[str]:
    lines = k(f"rollout history {what}").lines()
    return [line.split()[0] for line in lines if line[:1].isdigit()]


def test_a_stateful_set_is_rolled_out_undone_and_scaled(k: Kubectl) -> None:
    k("create --validate=false -f -", statefulset("db", 2)).ok()
    rolled_out(k, "sts/db")
    k("set image sts/db db=db:2").ok()
    rolled_out(k, "sts/db")
    assert revisions(k, "sts/db") == ["1", "2"]
    k("rollout undo sts/db").printed("statefulset.apps/db rolled back")
    rolled_out(k, "sts/db")
    assert k("get pod db-1 -o jsonpath='{.spec.containers[0].image}'").ok() == "db:1"
    assert revisions(k, "sts/db") == ["2", "3"]
    k("scale sts/db --replicas=1").printed("statefulset.apps/db scaled")
    k("wait --for=delete pod/db-1 --timeout=60s").ok()
    (row,) = k("get sts").rows()
    assert (row["NAME"], row["READY"]) == ("db", "1/1")


def test_a_daemon_set_is_rolled_out_and_undone(k: Kubectl) -> None:
    k("create --validate=false -f -", daemonset("logs")).ok()
    rolled_out(k, "ds/logs")
    (row,) = k("get ds").rows()
    assert row["DESIRED"] == row["CURRENT"] == row["READY"] == row["UP-TO-DATE"]
    assert int(row["DESIRED"]) > 0
    k("set image ds/logs logs=logs:2").ok()
    rolled_out(k, "ds/logs")
    k("rollout undo ds/logs").printed("daemonset.apps/logs rolled back")
    rolled_out(k, "ds/logs")
    images = k("get pods -o jsonpath='{.items[*].spec.containers[0].image}'").ok()
    assert set(images.split()) == {"logs:1"}
