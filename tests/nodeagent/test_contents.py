"""What containers are given: variables, volumes, addresses; and what hooks and probes ask."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.nodes.agents import NODE, AgentCluster, agent_place, main_status, ready
from vacate.api.kinds import CONFIGMAPS, PODS
from vacate.api.objects import Obj

pytestmark = pytest.mark.process

WHERE = {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
VOLUMES = [
    {"name": "config", "configMap": {"name": "settings"}},
    {
        "name": "about",
        "downwardAPI": {
            "items": [
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                {"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}},
            ]
        },
    },
]
MOUNTS = [{"name": "config", "mountPath": "/settings"}, {"name": "about", "mountPath": "/about"}]
VIEWS = [
    pytest.param(
        True, id="own-view", marks=pytest.mark.skipif(os.geteuid() != 0, reason="an overlay needs root")
    ),
    pytest.param(False, id="no-view"),
]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[AgentCluster]:
    async with agent_place(tmp_path, loopback_pods=True) as made:
        await made.client.create(CONFIGMAPS, _settings({"color": "green", "size": "7"}))
        yield made


def _settings(data: Obj) -> Obj:
    return {"metadata": {"name": "settings", "namespace": "default"}, "data": data}


async def test_variables_come_from_everywhere(place: AgentCluster) -> None:
    env = [
        WHERE,
        {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}},
        {"name": "BOTH", "value": "$(COLOR)/$(WHERE)/$$(COLOR)/$(NONE)"},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "MAYBE", "valueFrom": {"configMapKeyRef": {"name": "no", "key": "no", "optional": True}}},
    ]
    container = {
        "env": env,
        "envFrom": [{"prefix": "CM_", "configMapRef": {"name": "settings"}}],
        "resources": {"limits": {"cpu": "250m", "memory": "1Gi"}},
        "args": ["$(BOTH)"],
        "command": ["sh", "-c", 'echo "$0 $CM_size $CPU ${MAYBE-unset} $HOSTNAME"; exec sleep 1000'],
    }
    made = await place.create("web", "", container=container)
    log = await place.logged(made, "web")
    assert log == f"green/{NODE}/$(COLOR)/$(NONE) 7 250 unset web\n"
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


async def test_a_missing_config_map_is_named_and_waited_for(place: AgentCluster) -> None:
    env = [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "later", "key": "x"}}}]
    await place.create("web", "true", container={"env": env})
    waiting = await place.until("web", lambda one: "later" in str(main_status(one)["state"]))
    reported = main_status(waiting)["state"]["waiting"]
    assert reported == {
        "reason": "CreateContainerConfigError",
        "message": 'config map "later" not found; create it',
    }
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


@pytest.mark.thorough
@pytest.mark.parametrize("view", VIEWS)
async def test_volumes_are_where_the_environment_says_and_follow_the_pod(tmp_path: Path, view: bool) -> None:
    async with agent_place(tmp_path, runtime_options={"use_views": view}) as place:
        await place.client.create(CONFIGMAPS, _settings({"color": "green"}))
        script = (
            "cat $VACATE_VOLUME_CONFIG/color $VACATE_VOLUME_ABOUT/labels; echo; echo $VACATE_VOLUME_ABOUT"
        )
        made = await place.create(
            "web", script + "; exec sleep 1000", volumes=VOLUMES, container={"volumeMounts": MOUNTS}
        )
        log = await place.logged(made, "about")
        assert log.startswith("green")
        assert log.endswith("/about\n")
        assert ("\n/about\n" in log) is view
        await place.until("web", ready)
        await place.client.patch(PODS, "web", {"metadata": {"annotations": {"why": "x"}}}, "default")
        file = place.settings.pods_folder / made["metadata"]["uid"] / "volumes/about/annotations"
        while 'why="x"' not in file.read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await place.client.delete(PODS, "web", "default")
        await place.gone("web")


SERVER = (
    "import http.server, os, sys\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        print(self.path, self.headers.get('X-Who'), flush=True)\n"
    "        self.send_response(200); self.end_headers()\n"
    "http.server.HTTPServer((os.environ['VACATE_POD_IP'], 8080), H).serve_forever()\n"
)


@pytest.mark.thorough
async def test_replicas_share_a_port_and_http_hooks_and_probes_reach_the_right_one(
    place: AgentCluster,
) -> None:
    container = {
        "command": ["python3", "-c", SERVER],
        "ports": [{"name": "web", "containerPort": 8080}],
        "readinessProbe": {"httpGet": {"port": "web", "path": "/ready"}, "periodSeconds": 1},
        "lifecycle": {
            "postStart": {"exec": {"command": ["true"]}},
            "preStop": {
                "httpGet": {"port": 8080, "path": "/bye", "httpHeaders": [{"name": "X-Who", "value": "me"}]}
            },
        },
    }
    made = [await place.create(name, "", container=container) for name in ("one", "two")]
    addresses = {(await place.until(name, ready))["status"]["podIP"] for name in ("one", "two")}
    assert len(addresses) == 2
    _, output = await place.output_until_deleted(made[0])
    assert "/bye me" in output
    assert "/bye" not in await place.logged(made[1], "/ready")
    await place.client.delete(PODS, "two", "default")
    await place.gone("two")


async def test_a_startup_probe_comes_before_the_others(place: AgentCluster) -> None:
    look = {"exec": {"command": ["test", "-e", "started"]}, "timeoutSeconds": 60, "periodSeconds": 1}
    started, live = {**look, "failureThreshold": 100}, {**look, "failureThreshold": 1}
    made = await place.create(
        "web", "exec sleep 1000", container={"startupProbe": started, "livenessProbe": live}
    )
    waiting = await place.until("web", lambda one: "running" in main_status(one)["state"])
    assert (main_status(waiting)["started"], ready(waiting)) == (False, False)
    (place.settings.pods_folder / made["metadata"]["uid"] / "containers/main/started").touch()
    done = await place.until("web", ready)
    assert (main_status(done)["started"], main_status(done)["restartCount"]) == (True, 0)
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


async def test_a_failing_poststart_hook_ends_the_container(place: AgentCluster) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo no; exit 3"]}}}
    await place.create("web", "exec sleep 1000", restartPolicy="Never", container={"lifecycle": hook})
    failed = await place.until("web", lambda one: one["status"].get("phase") == "Failed")
    assert main_status(failed)["state"]["terminated"]["exitCode"] == 143
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


async def test_a_sidecar_starts_first_and_ends_last(place: AgentCluster) -> None:
    side = {
        "name": "side",
        "image": "none",
        "restartPolicy": "Always",
        "command": [
            "sh",
            "-c",
            "trap 'exit 0' TERM; touch $VACATE_VOLUME_S/up; while :; do sleep 0.02; done",
        ],
        "volumeMounts": [{"name": "s", "mountPath": "/s"}],
    }
    await place.create(
        "web",
        "until test -e $VACATE_VOLUME_S/up; do sleep 0.02; done",
        restartPolicy="Never",
        initContainers=[side],
        volumes=[{"name": "s", "emptyDir": {}}],
        container={"volumeMounts": side["volumeMounts"]},
    )
    done = await place.until("web", lambda one: one["status"].get("phase") == "Succeeded")
    assert done["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


async def test_a_tainted_node_runs_only_pods_that_name_its_taint(tmp_path: Path) -> None:
    async with agent_place(tmp_path, taint=True) as place:
        await place.create("daemon", "exec sleep 1000", tolerations=[{"operator": "Exists"}])
        named = [{"key": "vacate.dev/process", "operator": "Exists"}]
        await place.create("meant", "exec sleep 1000", tolerations=named)
        await place.until("meant", ready)
        kept = await place.until("daemon", lambda one: "waiting" in main_status(one)["state"])
        assert "toleration with key vacate.dev/process" in main_status(kept)["state"]["waiting"]["message"]
        for name in ("daemon", "meant"):
            await place.client.delete(PODS, name, "default")
            await place.gone(name)
