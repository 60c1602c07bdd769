"""Each command over a cluster that runs as a process: asked, followed, explained, taken back."""

from __future__ import annotations

import datetime as dt
import json
import os
import pty
import re
import signal
from collections.abc import Iterator

import pytest
import yaml

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, REQUESTS, Lab
from support.waiting import until
from vacate.api.times import format_micro_time, parse_time

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=3)]

ADMIN = "kubernetes-admin.cli.vacate.dev"
BACKUP, NOTIFY = "backup.example.com", "notify.example.com"
NOWHERE = 'pods "nowhere" not found in namespace default; choose another namespace with -n'
JANE, DRAIN = "jane.example.com", "drain.example.com"
JSON = pytest.param(("-o", "json"), marks=pytest.mark.thorough)
forms = pytest.mark.parametrize("form", [(), JSON], ids=["lines", "json"])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_cluster(tmp_path_factory.mktemp("commands") / "dir", *FAST_PODS) as running:
        yield Lab(running)


def now() -> str:
    return format_micro_time(dt.datetime.now(dt.UTC))


def test_a_plain_pod_leaves_while_one_waits(lab: Lab) -> None:
    lab.pod("plain")
    done = lab.vacate("evict", "pod/plain", "--wait", "--reason", "kernel update")
    assert (done.code, done.err) == (0, "")
    asked, *_, ended = done.out.splitlines()
    assert asked == "pod/plain eviction requested"
    assert re.fullmatch("pod/plain (evicted|terminated)", ended)


def test_pods_by_labels_and_by_name(lab: Lab) -> None:
    for name in ("many-1", "many-2", "many-3"):
        lab.pod(name, labels={"set": "many"})
    done = lab.vacate("evict", "-l", "set=many", "--timeout", "60s")
    assert done.code == 0
    ended = re.findall(r"^pod/(\S+) (?:evicted|terminated)$", done.out, re.MULTILINE)
    assert sorted(ended) == ["many-1", "many-2", "many-3"]
    until(lambda: not lab.https.get(f"{PODS}?labelSelector=set%3Dmany").ok()["items"])
    done = lab.vacate("evict", "-l", "set=many")
    assert (done.code, done.out, done.err) == (0, "", "No pods match 'set=many' in namespace default.\n")


def test_some_of_several_pods_are_not_there(lab: Lab) -> None:
    lab.pod("there", BACKUP)
    done = lab.vacate("evict", "there", "nowhere", "--requester", JANE)
    assert done.code == 1
    assert done.out == f"pod/there eviction requested; first interceptor: {BACKUP}\n"
    assert done.err == f"error: pod/nowhere: {NOWHERE}\n"
    assert lab.vacate("evict", "nowhere").err == f"error: {NOWHERE}\n"


def test_waiting_no_longer_than_that(lab: Lab) -> None:
    lab.pod("slow", BACKUP)
    done = lab.vacate("evict", "slow", "--timeout", "0.3", "--deadline", "10m")
    assert done.code == 4
    assert done.err == (
        "pod/slow not evicted within 0s (stage Intercepting); the request continues; "
        "see: vacate explain slow -n default\n"
    )
    again = lab.vacate("evict", "slow")
    assert (again.code, again.out) == (
        0,
        f"pod/slow eviction already requested by {ADMIN}; nothing changed\n",
    )
    assert lab.request("slow")["spec"]["heartbeatDeadlineSeconds"] == 600


@pytest.mark.thorough
def test_a_request_that_is_cancelled_while_one_waits(lab: Lab) -> None:
    lab.pod("spared", BACKUP)
    waiting = lab.start("evict", "spared", "--wait", "--requester", JANE)
    until(lambda: lab.vacate("cancel", "spared", "--requester", JANE).code == 0)
    out, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 3, out
    assert "pod/spared not evicted: the request was cancelled" in out


@pytest.mark.thorough
def test_a_pod_that_goes_unprepared_has_an_exit_code_of_its_own(lab: Lab) -> None:
    lab.pod("raw", BACKUP)
    waiting = lab.start("evict", "raw", "--wait", "--requester", JANE)
    until(lambda: BACKUP in lab.vacate("status", "raw").out)
    conditions = lab.until_active("raw")["status"]["conditions"]
    failed = {
        "type": f"{BACKUP}/Failed",
        "status": "True",
        "reason": "HandedOver",
        "message": "the disk is full",
    }
    lab.report(
        "raw",
        heartbeatTime=now(),
        activeInterceptorCompleted=True,
        conditions=[*conditions, failed | {"lastTransitionTime": now()}],
    )
    out, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 5, out
    assert (
        f"error: pod/raw: interceptor {BACKUP} failed (the disk is full); it did not prepare the pod" in out
    )


def test_an_interrupted_wait_leaves_the_request(lab: Lab) -> None:
    lab.pod("kept", BACKUP)
    waiting = lab.start("evict", "kept", "--wait")
    until(lambda: lab.vacate("status", "kept").out)
    waiting.send_signal(signal.SIGINT)
    out, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert "The eviction requests remain; see: vacate status" in out
    assert lab.request("kept")["spec"]["requesters"]


def test_the_request_as_an_object(lab: Lab) -> None:
    lab.pod("object", BACKUP)
    done = lab.vacate("evict", "object", "-o", "json", "--reason", "because", "--requester", JANE)
    printed = json.loads(done.out)
    assert printed["kind"] == "EvictionRequest"
    assert printed["spec"]["requesters"] == [{"name": JANE}]
    assert printed["metadata"]["annotations"]["vacate.dev/reason"] == "because"
    assert printed["metadata"]["ownerReferences"][0]["name"] == "object"
    (event,) = lab.events(printed["metadata"]["name"], "EvictionRequested")
    assert event["message"] == f"{JANE} requested the eviction of pod object: because"
    lab.pod("second", BACKUP)
    both = yaml.safe_load(lab.vacate("evict", "object", "second", "-o", "yaml").out)
    assert (both["kind"], len(both["items"])) == ("List", 2)


def test_the_default_requester_is_the_user(lab: Lab) -> None:
    lab.pod("mine", BACKUP)
    assert lab.vacate("evict", "mine").code == 0
    (requester,) = lab.request("mine")["spec"]["requesters"]
    assert requester["name"] == ADMIN  # the cluster's user, not the machine's


def test_status_in_words_and_objects(lab: Lab) -> None:
    lab.pod("shown", BACKUP, NOTIFY)
    lab.vacate("evict", "shown")
    finish = format_micro_time(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=20))
    lab.report("shown", heartbeatTime=now(), expectedInterceptorFinishTime=finish, message="Copying")
    header, row = lab.vacate("status", "shown").out.splitlines()
    assert header.split()[:3] == ["POD", "STAGE", "ACTIVE"]
    user = r"[a-z0-9-]+\.cli\.vacate\.dev"
    assert re.fullmatch(
        rf"shown +Intercepting +{BACKUP} +\d+s +in 19m +\d+s ago +- +\d+s +{user} +Copying", row
    )
    listed = json.loads(lab.vacate("status", "pod/shown", "-o", "json").out)
    assert [one["status"]["message"] for one in listed["items"]] == ["Copying"]
    everywhere = lab.vacate("status", "-A").out.splitlines()
    assert everywhere[0].startswith("NAMESPACE")
    assert any(re.match(r"default +shown ", line) for line in everywhere)


def test_status_without_requests_says_so(lab: Lab) -> None:
    done = lab.vacate("status", "-n", "kube-system")
    assert (done.code, done.out) == (0, "")
    assert done.err == "No eviction requests in namespace kube-system.\n"
    assert lab.vacate("status", "nobody").err == "No eviction request for pod nobody in namespace default.\n"
    assert json.loads(lab.vacate("status", "-n", "kube-system", "-o", "json").out)["items"] == []


def test_status_and_explanation_of_a_pod_that_its_budget_keeps(lab: Lab) -> None:
    lab.pod("tight-1", labels={"app": "tight"})
    lab.budget("tight", 1)
    lab.vacate("evict", "tight-1")
    until(lambda: "Blocked" in lab.vacate("status", "tight-1").out)
    assert "pdb/tight" in lab.vacate("status", "tight-1").out
    explanation = lab.vacate("explain", "tight-1").out
    assert "Pod tight-1 cannot be evicted: " in explanation
    assert "Disruption budget tight needs 1 healthy pod, has 1, and allows 0 disruptions now." in explanation
    assert re.search(r"The next attempt (comes (within|between) |is due now)", explanation)
    assert "kubectl describe pdb tight -n default" in explanation


def test_following_a_pod_to_its_end(lab: Lab) -> None:
    lab.pod("followed", BACKUP)
    following = lab.start("status", "followed", "-w")
    assert following.stdout is not None
    assert following.stdout.readline().split()[:2] == ["TIME", "POD"]
    lab.vacate("evict", "followed")
    lab.report("followed", heartbeatTime=now(), activeInterceptorCompleted=True)
    out, _ = following.communicate(timeout=60)
    assert following.returncode == 0, out
    moments, pods, stages = zip(*(line.split()[:3] for line in out.splitlines()), strict=True)
    assert list(map(parse_time, moments)) == sorted(map(parse_time, moments))
    assert stages[0] == "Intercepting"
    assert stages[-1] in ("Complete", "Deleted")
    assert set(pods) == {"followed"}


def test_the_removal_of_a_complete_request_is_no_second_completion(lab: Lab) -> None:
    lab.pod("removed", BACKUP)
    lab.pod("afterwards", BACKUP)
    following = lab.start("status", "-w")
    assert following.stdout is not None
    assert following.stdout.readline().split()[:2] == ["TIME", "POD"]
    lab.vacate("evict", "removed")
    request = f"{REQUESTS}/{lab.until_active('removed')['metadata']['name']}"
    lab.report("removed", heartbeatTime=now(), activeInterceptorCompleted=True)
    until(lambda: lab.https.get(request).code == 404)
    lab.vacate("evict", "afterwards")  # its line comes after everything about the first
    shown: list[list[str]] = []
    while not shown or shown[-1][0] != "afterwards":
        shown.append(following.stdout.readline().split()[1:3])
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=60)
    assert [stage for pod, stage in shown if pod == "removed"].count("Complete") == 1, shown


@forms
def test_following_a_pod_that_is_not_there_ends(lab: Lab, form: tuple[str, ...]) -> None:
    following = lab.start("status", "never-there", "-w", *form)
    out, _ = following.communicate(timeout=60)
    assert following.returncode == 0
    assert out.splitlines()[-1] == (
        "No pod never-there and no eviction request for it in namespace default: there is nothing to follow."
    )


@forms
def test_following_ends_when_a_pod_goes_without_a_request(lab: Lab, form: tuple[str, ...]) -> None:
    name = f"unasked{len(form)}"
    lab.pod(name, BACKUP)
    following = lab.start("status", name, "-w", *form)
    if not form:
        assert following.stdout is not None
        assert following.stdout.readline().split()[:2] == ["TIME", "POD"]
    uid = lab.https.get(f"{PODS}/{name}").ok()["metadata"]["uid"]
    lab.https.patch(f"{PODS}/{name}", {"metadata": {"annotations": {"vacate.dev/confirm-force-delete": uid}}})
    lab.https.delete(f"{PODS}/{name}?gracePeriodSeconds=0")
    out, _ = following.communicate(timeout=60)
    assert (following.returncode, "there is nothing to follow" in out) == (0, True)


def test_a_pod_held_by_finalizers(lab: Lab) -> None:
    """Its containers have terminated and the request is complete, but the pod is not gone."""
    lab.pod("kept-object", BACKUP)
    lab.https.patch(f"{PODS}/kept-object", {"metadata": {"finalizers": ["example.com/report"]}})
    lab.vacate("evict", "kept-object")
    lab.report("kept-object", heartbeatTime=now(), activeInterceptorCompleted=True)
    following = lab.start("status", "kept-object", "-w")
    out, _ = following.communicate(timeout=60)
    held = (
        "pod/kept-object has terminated and is still there: its removal waits for its finalizers, "
        "example.com/report. Ask their owner to remove them."
    )
    assert (following.returncode, out.splitlines()[-1]) == (0, held)
    assert lab.vacate("status", "kept-object").err == f"{held}\n"
    explanation = lab.vacate("explain", "kept-object").out
    assert explanation.startswith("Pod kept-object has terminated, and its object is held by finalizers.")
    assert "Nothing more happens" not in explanation
    lab.https.patch(f"{PODS}/kept-object", {"metadata": {"finalizers": None}})


def test_a_request_held_by_finalizers_holds_no_pod(lab: Lab) -> None:
    lab.pod("pinned", BACKUP)
    lab.vacate("evict", "pinned")
    uid = lab.https.get(f"{PODS}/pinned").ok()["metadata"]["uid"]
    path = f"{REQUESTS}/{uid}"
    lab.https.patch(path, {"metadata": {"finalizers": ["example.com/hold"]}})
    lab.https.delete(path)
    evicted = lab.vacate("evict", "pinned", "--wait")
    assert (evicted.code, evicted.out) == (0, "pod/pinned evicted past its interceptors\n")
    assert "is over and cannot be replaced: it is held by the finalizers example.com/hold" in evicted.err
    assert lab.https.get(f"{PODS}/pinned").code == 404
    lab.https.patch(path, {"metadata": {"finalizers": None}})


def test_a_live_table_on_a_terminal(lab: Lab) -> None:
    lab.pod("live", BACKUP)
    ours, theirs = pty.openpty()
    following = lab.start("status", "live", "-w", stdout=theirs)
    os.close(theirs)
    shown = ""
    while "waiting for one" not in shown:
        shown += os.read(ours, 65536).decode(errors="replace")
    lab.vacate("evict", "live")
    while BACKUP not in shown:
        shown += os.read(ours, 65536).decode(errors="replace")
    lab.report("live", heartbeatTime=now(), activeInterceptorCompleted=True)
    try:
        while piece := os.read(ours, 65536):
            shown += piece.decode(errors="replace")
    except OSError:  # how Linux tells that nobody has the other side open
        os.close(ours)
    assert following.wait(60) == 0
    assert "No eviction requests yet in namespace default; waiting for one." in shown
    assert "Intercepting" in shown
    assert re.search("Complete|Deleted", shown.rpartition("POD")[2])


def test_taking_back_one_of_two_requests(lab: Lab) -> None:
    lab.pod("wanted", BACKUP)
    lab.vacate("evict", "wanted", "--requester", DRAIN)
    joined = lab.vacate("evict", "wanted", "--requester", JANE)
    assert joined.out == f"pod/wanted eviction requested, also by {DRAIN}; first interceptor: {BACKUP}\n"
    stranger = lab.vacate("cancel", "wanted", "--requester", "other.example.com")
    assert stranger.code == 1
    assert "error: other.example.com does not request the eviction of pod wanted; " in stranger.err
    assert DRAIN in stranger.err
    assert JANE in stranger.err
    assert lab.vacate("cancel", "wanted", "--requester", JANE).out == (
        f"pod/wanted eviction no longer requested by {JANE}, but still by {DRAIN}\n"
    )
    assert lab.vacate("cancel", "wanted", "--requester", DRAIN).out == (
        "pod/wanted is not evicted: the eviction request is cancelled\n"
    )
    until(lambda: "Cancelled" in lab.vacate("status", "wanted").out)
    again = lab.vacate("cancel", "wanted", "--requester", DRAIN)
    assert (again.code, again.out) == (
        0,
        "pod/wanted is not evicted: the eviction request was already cancelled\n",
    )
    assert lab.vacate("evict", "wanted", "--requester", JANE).code == 0
    assert lab.request("wanted")["spec"]["requesters"] == [{"name": JANE}]


def test_forbidden_and_overridden(lab: Lab) -> None:
    lab.pod("held", BACKUP)
    lab.vacate("evict", "held", "--requester", JANE)
    lab.report("held", heartbeatTime=now(), evictionRequestCancellationPolicy="Forbid")
    refused = lab.vacate("cancel", "held", "--requester", JANE)
    assert refused.code == 1
    assert len(refused.err.splitlines()) == 1
    assert BACKUP in refused.err
    assert "--override" in refused.err
    explanation = lab.vacate("explain", "held").out
    assert "It cannot be cancelled: an interceptor has forbidden cancellation." in explanation
    done = lab.vacate("cancel", "held", "--override")
    assert done.code == 0
    assert done.out == (
        "pod/held is not evicted: the interceptor's Forbid was set to Allow, and all requesters were removed "
        f"({JANE})\n"
    )
    request = lab.request("held")
    assert request["status"]["evictionRequestCancellationPolicy"] == "Allow"
    (event,) = lab.events(request["metadata"]["name"], "CancellationOverridden")
    assert event["type"] == "Warning"
    assert event["message"].endswith(
        f" set the cancellation policy from Forbid to Allow and removed all requesters ({JANE})."
    )
    until(lambda: "Cancelled" in lab.vacate("status", "held").out)


def test_overriding_where_nothing_is_forbidden(lab: Lab) -> None:
    lab.pod("free", BACKUP)
    lab.vacate("evict", "free", "--requester", JANE)
    done = lab.vacate("cancel", "free", "--override")
    assert (done.code, done.out) == (0, f"pod/free is not evicted: all requesters were removed ({JANE})\n")


def test_taking_back_what_has_begun(lab: Lab) -> None:
    slow = {"sim.vacate.dev/stop-seconds": "300"}
    lab.pod("going", BACKUP, annotations=slow, terminationGracePeriodSeconds=300)
    lab.vacate("evict", "going", "--requester", JANE)
    lab.https.delete(f"{PODS}/going")
    done = lab.vacate("cancel", "going", "--requester", JANE)
    assert done.code == 0
    assert done.out == (
        "pod/going is terminating already and cannot be kept: the eviction request is cancelled\n"
    )


def test_nothing_to_take_back(lab: Lab) -> None:
    lab.pod("calm")
    assert lab.vacate("cancel", "calm").err == "error: there is no eviction request for pod calm\n"
    both = lab.vacate("cancel", "calm", "nowhere", "--override")
    assert both.code == 1
    assert both.err.splitlines() == [
        "error: pod/calm: there is no eviction request for pod calm",
        f"error: pod/nowhere: {NOWHERE}",
    ]


def test_the_explanation_before_during_and_after(lab: Lab) -> None:
    lab.pod("explained", BACKUP, NOTIFY)
    before = lab.vacate("explain", "explained").out
    assert before.startswith("No eviction of pod explained is requested.")
    assert [line for line in before.splitlines() if "would have its turn" in line] == [
        f"  1. {BACKUP} would have its turn.",
        f"  2. {NOTIFY} would have its turn.",
    ]
    lab.vacate("evict", "explained", "--reason", "kernel update")
    lab.report("explained", heartbeatTime=now(), message="Copied 3 of 9 GiB")
    during = lab.vacate("explain", "pod/explained").out
    assert during.startswith(f"Interceptor {BACKUP} is preparing pod explained for eviction.")
    assert "Reason given: kernel update" in during
    assert "Its message: Copied 3 of 9 GiB." in during
    assert f"{NOTIFY} is assigned" in during
    explanation = yaml.safe_load(lab.vacate("explain", "explained", "-o", "yaml").out)
    assert [one["state"] for one in explanation["interceptors"]] == ["Active", "Waiting"]
    lab.vacate("cancel", "explained", "--override")
    until(
        lambda: lab.vacate("explain", "explained").out.startswith(
            "The eviction request for pod explained is cancelled."
        )
    )


def test_the_explanation_of_an_unknown_pod(lab: Lab) -> None:
    assert lab.vacate("explain", "nowhere").err == f"error: {NOWHERE}\n"
