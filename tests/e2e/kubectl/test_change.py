"""Changing what is there: patch, label, annotate, edit, replace, scale, set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.kubectl import Kubectl
from support.manifests import config_map, deployment

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=2)]
Version = tuple[int, int]


def test_the_three_kinds_of_patch(k: Kubectl) -> None:
    k("create --validate=false -f -", deployment("web", 0)).ok()
    strategic = {"spec": {"template": {"spec": {"containers": [{"name": "web", "tty": True}]}}}}
    k(f"patch deployment web -p '{json.dumps(strategic)}'").printed("deployment.apps/web patched")
    container = k("get deployment web -o json").json()["spec"]["template"]["spec"]["containers"][0]
    assert (container["tty"], container["image"]) == (True, "web:1")
    k('patch deployment web --type=merge -p \'{"spec":{"paused":true}}\'').printed("patched")
    replace = [
        {"op": "test", "path": "/spec/paused", "value": True},
        {"op": "remove", "path": "/spec/paused"},
    ]
    k(f"patch deployment web --type=json -p '{json.dumps(replace)}'").printed("patched")
    assert "paused" not in k("get deployment web -o json").json()["spec"]
    k(f"patch deployment web --type=json -p '{json.dumps(replace)}'").failed("The request is invalid")
    k("patch deployment web -p '{\"spec\":{}}'").printed("deployment.apps/web patched (no change)")


def test_patch_of_status(k: Kubectl) -> None:
    k("create --validate=false -f -", deployment("web", 0)).ok()
    patch = '{"status":{"conditions":[{"type":"Nice","status":"True"}]},"spec":{"replicas":5}}'
    k(f"patch deployment web --subresource=status --type=merge -p '{patch}'").printed("patched")
    found = k("get deployment web -o json").json()
    assert "Nice" in [one["type"] for one in found["status"]["conditions"]]
    assert found["spec"]["replicas"] == 0


def test_label(k: Kubectl) -> None:
    k("create configmap a").ok()
    k("label cm a x=1 y=2").printed("configmap/a labeled")
    k("label cm a x=3").failed("already has a value (1), and --overwrite is false")
    k("label cm a x=3 --overwrite").ok()
    k("label cm a y-").ok()
    assert k("get cm a -o jsonpath={.metadata.labels}").ok() == '{"x":"3"}'
    k("label cm a x=under_the_/weather --overwrite").failed("a valid label must be")
    k("label cm -l x=3 z=4").printed("configmap/a labeled")


def test_annotate(k: Kubectl) -> None:
    k("create configmap a").ok()
    k("annotate cm a note='two words'").printed("configmap/a annotat")
    k("annotate cm a note=other").failed("--overwrite is false")
    k("annotate cm a note=other --overwrite").ok()
    assert k("get cm a -o jsonpath={.metadata.annotations.note}").ok() == "other"
    k("annotate cm --all note-").ok()
    assert k("get cm a -o jsonpath={.metadata.annotations}").ok() == ""


def test_edit(k: Kubectl, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/before/after/ "$1"\n')
    editor.chmod(0o755)
    k("create configmap a --from-literal=x=before").ok()
    around = {"KUBE_EDITOR": str(editor), "TMPDIR": str(tmp_path)}
    k("edit cm a --validate=false", around=around).printed("configmap/a edited")
    assert k("get cm a -o jsonpath={.data.x}").ok() == "after"
    assert "no changes made" in k("edit cm a --validate=false", around=around).err


def test_replace(k: Kubectl) -> None:
    k("create --validate=false -f -", config_map("a", {"x": "1"}, labels={"l": "1"})).ok()
    read = k("get cm a -o json").json()
    k("replace --validate=false -f -", config_map("a", {"y": "2"})).printed("configmap/a replaced")
    found = k("get cm a -o json").json()
    assert found["data"] == {"y": "2"}
    assert "labels" not in found["metadata"]
    assert found["metadata"]["uid"] == read["metadata"]["uid"]
    k("replace --validate=false -f -", read).failed("(Conflict)", "the object has been modified")
    k("replace --validate=false -f -", config_map("b", {})).failed('configmaps "b" not found')
    k("replace --force --validate=false -f -", config_map("a", {"z": "3"})).ok()
    assert k("get cm a -o json").json()["metadata"]["uid"] != read["metadata"]["uid"]


def test_scale(k: Kubectl) -> None:
    k("create --validate=false -f -", deployment("web", 1)).ok()
    k("scale deployment web --replicas=3").printed("deployment.apps/web scaled")
    k("rollout status deployment/web --timeout=60s").ok()
    assert len(k("get pods -l app=web").rows()) == 3
    k("scale deployment web --current-replicas=7 --replicas=1").failed("Expected replicas to be 7, was 3")
    k("scale deployment web --replicas=0").ok()
    k("wait --for=delete pod -l app=web --timeout=60s").ok()
    k.until("get deployment web", lambda ran: ran.row("web")["READY"] == "0/0")


def test_set_image_and_friends(k: Kubectl) -> None:
    k("create --validate=false -f -", deployment("web", 0)).ok()
    k("set image deployment/web web=web:2").printed("deployment.apps/web image updated")
    k("set env deployment/web MODE=fast").printed("deployment.apps/web env updated")
    k("set resources deployment/web --requests=cpu=100m").printed("resource requirements updated")
    container = k("get deployment web -o json").json()["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "web:2"
    assert container["env"] == [{"name": "MODE", "value": "fast"}]
    assert container["resources"]["requests"] == {"cpu": "100m"}
    k("set image deployment/web nobody=web:3").failed("unable to find container named")


def test_taints(k: Kubectl) -> None:
    k("taint node node-3 e2e=1:NoSchedule").printed("node/node-3 tainted")
    try:
        taints = k("get node node-3 -o json").json()["spec"]["taints"]
        assert taints == [{"key": "e2e", "value": "1", "effect": "NoSchedule"}]
    finally:
        k("taint node node-3 e2e-").printed("node/node-3 untainted")


def test_diff_shows_what_apply_would_change(k: Kubectl, version: Version) -> None:
    k("apply --validate=false -f -", config_map("a", {"x": "1"})).ok()
    done = k("diff -f -", config_map("a", {"x": "2"}))
    if version < (1, 29):  # asks for the schema before it asks for anything else
        done.failed("the server could not find the requested resource", code=done.code)
        assert done.code >= 1
        return
    assert done.code == 1, str(done)  # as diff itself: there is a difference
    assert '-  x: "1"' in done.out
    assert '+  x: "2"' in done.out
    assert k("diff -f -", config_map("a", {"x": "1"})).ok() == ""
    assert k("get cm a -o jsonpath={.data.x}").ok() == "1"
