"""`vacate plan`: its command line, exit codes, text and JSON, for a saved snapshot."""

from __future__ import annotations

import datetime as dt
import json
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from support.processes.commands import vacate
from vacate.api.kinds import NODES, PODS
from vacate.api.types.nodemaintenance import Blocker, BlockerRemedy
from vacate.cli.common.connection import Connection
from vacate.cli.main import cli
from vacate.cli.plan import making
from vacate.cli.plan.text import plan_lines
from vacate.plan import report
from vacate.plan.fields import reduced
from vacate.plan.forecast import Run, Verdict
from vacate.plan.report import Plan
from vacate.plan.run import PlanOptions, Progress, run_plan
from vacate.plan.snapshot import Snapshot, load, save
from vacate.plan.timings import Pace
from vacate.testing.builders import node, pod

pytestmark = pytest.mark.sim


_STATE = {"running": {"startedAt": "2026-03-01T11:00:00Z"}}
RUNNING = {
    "startTime": "2026-03-01T11:00:00Z",
    "containerStatuses": [{"name": "main", "ready": True, "state": _STATE}],
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nodes, and a pod on the first of them that nothing re-creates."""
    nodes = [node(name, metadata={"uid": name}) for name in ("node-1", "node-2")]
    lone = pod("lone", node="node-1", ready=True, metadata={"uid": "p1"}, status=RUNNING)
    objects = {
        NODES: [reduced(NODES, one) for one in nodes],
        PODS: [reduced(PODS, lone)],
    }
    path = tmp_path_factory.mktemp("plan") / "small.snapshot"
    save(Snapshot(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), objects, {"jobs.batch": "Jobs"}), path)
    return path


def plan(*words: str) -> Result:
    return CliRunner().invoke(cli, ["plan", *words], prog_name="vacate")


def test_a_drain_that_blocks_is_exit_code_5_with_the_blocker_and_its_remedy(saved: Path) -> None:
    shown = plan("node-1", "--from", str(saved), "--runs", "1")
    assert shown.exit_code == 5, shown.output
    assert "2 nodes, 1 pod, read at 2026-03-01 12:00:00 UTC; nothing was changed" in shown.output
    assert "WOULD BLOCK after 0s: 0 of 1 node drained, not node-1" in shown.output
    assert "as far as is known: jobs.batch could not be read, see the end" in shown.output
    assert "pod default/lone, node-1: " in shown.output
    assert "--force" in shown.output
    assert "assumed   Vacate drains, although it is not installed in this cluster" in shown.output
    assert "not read  jobs.batch: the plan does not know Jobs" in shown.output
    assert "assumed   the cluster is as it was " in shown.output
    assert "lands" not in shown.output


def test_a_drain_that_finishes_is_exit_code_0(saved: Path) -> None:
    shown = plan("-l", "kubernetes.io/hostname=node-1", "--force", "--from", str(saved), "-o", "json")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.output)
    assert found["outcome"]["verdict"] == "Finishes"
    assert [one["pace"] for one in found["runs"]] == ["slow", "fast"]
    assert found["decisive"]["nodes"][0]["lastPod"] == "default/lone"
    (workload,) = found["decisive"]["workloads"]
    assert (workload["workload"], workload["lowest"], workload["lasting"]) == ("default Pod/lone", 0, True)


def test_the_picture_has_the_verdict_the_nodes_and_what_holds_them(saved: Path) -> None:
    shown = plan("node-1", "--from", str(saved), "-o", "svg")
    assert shown.exit_code == 5
    texts = " ".join(ElementTree.fromstring(shown.output).itertext())
    assert "WOULD BLOCK after 0s: 0 of 1 node drained, not node-1" in texts
    assert "pod default/lone on node-1: no controller manages the pod" in texts
    drained = ElementTree.fromstring(plan("node-1", "--from", str(saved), "-o", "svg", "--force").output)
    bars = [one.get("class") for one in drained.iter("{http://www.w3.org/2000/svg}rect")]
    assert bars[-2:] == ["slow", "fast"]


def test_the_horizon_ends_a_drain_that_still_moves(saved: Path) -> None:
    """It has not been quiet for as long as a retry may take: what it would come to is not known."""
    shown = plan("node-1", "--from", str(saved), "--runs", "1", "--horizon", "60s")
    assert shown.exit_code == 5
    assert "WOULD NOT FINISH in 60s" in shown.output


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ((), 2, "name nodes, or use one of -l, --all-nodes and --cluster"),
        (("node-1", "--all-nodes"), 2, "name nodes, or use one of -l, --all-nodes and --cluster"),
        (("node-1", "--max-nodes", "1,none"), 2, "neither a number"),
        (("node-1", "--interceptor", "backup"), 2, "write NAME=SPAN"),
        (("node-1", "--cluster"), 2, "name nodes, or use one of -l, --all-nodes and --cluster"),
        (("node-1", "--keep-images"), 2, "--keep-images is about what --save keeps"),
        (("--cluster", "-o", "svg"), 2, "-o svg draws a drain"),
        (("node-1", "--add-nodes", "two"), 2, "write a number, or a number and a node"),
        (("node-1", "--ignore-daemonsets", "--evict-daemonsets"), 2, "not both"),
    ],
)
def test_a_command_line_that_cannot_be_meant(words: tuple[str, ...], code: int, why: str) -> None:
    shown = plan(*words)
    assert (shown.exit_code, why in shown.output) == (code, True), shown.output


@pytest.mark.parametrize(
    ("words", "why"),
    [(("node-9",), "there is no node node-9"), (("-l", "pool=none"), "no node matches 'pool=none'")],
)
def test_nodes_that_are_not_there(saved: Path, words: tuple[str, ...], why: str) -> None:
    refused = plan(*words, "--from", str(saved)).exception
    assert why in str(refused)


def test_the_whole_cluster_without_choosing_nodes(saved: Path) -> None:
    shown = plan("--cluster", "--from", str(saved))
    assert shown.exit_code == 0, shown.output
    assert "0 of 2 nodes could not be drained now" in shown.output
    assert "REFUSED WITHOUT AN OPTION" in shown.output
    assert "      vacate drain node-1 --force" in shown.output.splitlines()
    assert "Vacate is not installed in this cluster" in shown.output
    found = json.loads(plan("--cluster", "--from", str(saved), "-o", "json").output)
    assert found["installed"] is False
    assert [(one["harm"], one["nodes"]) for one in found["findings"]] == [("Refused", ["node-1"])]
    assert plan("--cluster", "--from", str(saved), "--force").output.count("default/lone") == 0


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pod of one CPU on each of two nodes of one CPU: none has room on the other."""
    owner = {"apiVersion": "example.com/v1", "kind": "App", "name": "app", "uid": "app", "controller": True}
    spec = {"containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}]}
    offered = {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}
    found = {
        NODES: [node(name, metadata={"uid": name}, status=offered) for name in ("node-1", "node-2")],
        PODS: [
            pod(
                f"p-{at}",
                node=at,
                ready=True,
                metadata={"uid": at, "ownerReferences": [owner]},
                spec=spec,
                status=RUNNING,
            )
            for at in ("node-1", "node-2")
        ],
    }
    path = tmp_path_factory.mktemp("plan") / "crowded.snapshot"
    objects = {kind: [reduced(kind, one) for one in some] for kind, some in found.items()}
    save(Snapshot(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), objects), path)
    return path


def test_nodes_that_are_added_give_room_to_pods_that_had_none(crowded: Path) -> None:
    words = ("node-1", "--from", str(crowded), "--runs", "1", "-o", "json")
    crowd = plan(*words[:-2])
    assert crowd.exit_code == 6
    text = " ".join(crowd.output.split())
    assert "WOULD LACK ROOM: 1 pod has no room: needs 1 CPU more in zone zone-a; 1 of 1" in text
    assert "last there: default/p-node-1, which waits for the end of its containers" in text
    assert plan("--cluster", "--from", str(crowded)).exit_code == 6
    found = plan(*words, "--add-nodes", "1", "--start-time", "90s", "--stop-time", "7s")
    assert found.exit_code == 0, found.output
    made = json.loads(found.output)
    assert made["outcome"]["slowest"] == 7
    assert made["decisive"]["workloads"][0]["belowSeconds"] == pytest.approx(90, abs=2)
    (zone,) = made["decisive"]["room"]
    assert zone["cpu"] == {"before": 67, "fullest": 100, "after": 100}
    assert zone["largestCpu"] == 0
    assert "1 node is added, and quotas and webhooks refuse nothing" in made["assumptions"]
    assert plan("--cluster", "--from", str(crowded), "--add-nodes", "1=node-2").exit_code == 0


def test_further_runs_draw_their_times_and_have_a_median(crowded: Path) -> None:
    words = ("node-1", "--from", str(crowded), "--add-nodes", "1", "--no-remedies", "-o", "json")
    few, many, again = (json.loads(plan(*words, "--runs", count).output) for count in ("2", "5", "5"))
    assert many == again
    assert (few["outcome"]["median"], len(many["runs"])) == (None, 5)
    drawn = {run["seconds"] for run in many["runs"][2:]}
    fastest, slowest = few["outcome"]["fastest"], few["outcome"]["slowest"]
    assert fastest < many["outcome"]["median"] < slowest
    assert len(drawn) > 1
    assert "in the median" in plan(*words[:-2], "--runs", "5").output


def test_what_is_known_is_shown_when_it_is_interrupted(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = [Pace.FAST]

    def run_once(snapshot: Snapshot, options: PlanOptions, pace: Pace, progress: Progress) -> Run:
        if pace in interrupted:
            raise KeyboardInterrupt
        return run_plan(snapshot, options, pace, progress)

    monkeypatch.setattr(report, "run_plan", run_once)
    shown = plan("node-1", "--from", str(saved))
    assert shown.exit_code == 130
    assert "what follows was known by then; nothing was changed." in shown.output
    assert "WOULD BLOCK after 0s" in shown.output
    interrupted = [Pace.SLOW]  # the first run
    shown = plan("node-1", "--from", str(saved))
    assert (shown.exit_code, "WOULD" in shown.output) == (130, False)


@pytest.mark.parametrize(
    ("moment", "message"),
    [
        ("vacate.plan.snapshot.load", "Interrupted."),
        ("vacate.cli.plan.making.read_cluster", "Interrupted."),
        ("vacate.plan.report.check_nodes", "Interrupted (it had not begun); nothing was changed."),
        ("vacate.plan.run.load_objects", "Interrupted (it had not begun); nothing was changed."),
        ("vacate.cli.plan.text.plan_lines", "Interrupted."),
    ],
)
def test_ctrl_c_around_the_runs_says_so(
    saved: Path, monkeypatch: pytest.MonkeyPatch, moment: str, message: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(moment, interrupt)
    monkeypatch.setattr("vacate.cli.plan.command.read_cluster", making.read_cluster)
    source = () if "read_cluster" in moment else ("--from", str(saved))
    ended = vacate({}, "plan", "node-1", *source)
    assert (ended.code, ended.out, ended.err.strip()) == (130, "", message)


@pytest.mark.parametrize("word", [None, "-ojson", "-osvg"])
def test_ctrl_c_in_the_first_run_shows_how_far_it_came(
    saved: Path, monkeypatch: pytest.MonkeyPatch, word: str | None
) -> None:
    seen = []

    def run_once(snapshot: Snapshot, options: PlanOptions, pace: Pace, progress: Progress) -> Run:
        def report_and_interrupt(seconds: float, pods: int) -> None:
            seen.append(seconds)
            if len(seen) == 3:
                signal.raise_signal(signal.SIGINT)
            progress(seconds, pods)

        return run_plan(snapshot, options, pace, report_and_interrupt)

    monkeypatch.setattr(report, "run_plan", run_once)
    before = signal.getsignal(signal.SIGINT)
    shown = plan("node-1", "--from", str(saved), *([word] if word else []))
    assert shown.exit_code == 130
    assert len(seen) == 3
    assert "what follows was known by then; nothing was changed." in shown.output
    assert signal.getsignal(signal.SIGINT) is before
    if word is None:
        assert "NOT KNOWN: stopped when 15s were planned: 0 of 1 node drained by then" in shown.output
        assert "pod default/lone, node-1: no controller manages the pod" in " ".join(shown.output.split())


def test_a_second_ctrl_c_does_not_wait(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_once(*_: object) -> Run:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it went on")

    monkeypatch.setattr(report, "run_plan", run_once)
    shown = plan("node-1", "--from", str(saved))
    assert (shown.exit_code, "NOT KNOWN" in shown.output) == (130, False)
    assert "Interrupted (it had not begun); nothing was changed." in shown.output


def test_how_far_a_plan_is_fits_one_line(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a remedy is tried: its command is longer than a terminal is wide."""
    drawn: list[str] = []

    def run_once(snapshot: Snapshot, options: PlanOptions, pace: Pace, progress: Progress) -> Run:
        progress(61.0, 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "run_plan", run_once)
    monkeypatch.setattr("rich.status.Status.update", lambda _status, text: drawn.append(text))
    monkeypatch.setattr("vacate.cli.common.terminal.width", lambda **_: 40)
    shown = plan("node-1", "--from", str(saved))
    assert "Interrupted (the drain: 1 min ahead, 1 pod gone); nothing was changed." in shown.output
    (line,) = drawn
    assert len(line) == 38
    assert line.endswith("1 min ahead, 1 p…")


@pytest.mark.parametrize("answer", [True, False])
def test_a_drain_whose_plan_blocks_is_asked_about_on_a_terminal(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: bool
) -> None:
    questions = []

    async def confirmed(question: str) -> bool:
        questions.append(question)
        return answer

    monkeypatch.setattr(making, "read_cluster", lambda _reach: load(saved))
    monkeypatch.setattr(making, "confirmed", confirmed)

    def planned(*, ask: bool, force: bool = False) -> str:
        spec = {"pods": {"unmanagedPods": "Evict"}} if force else {}
        return making.plan_drain(("node-1",), "", spec, Connection(), ask=ask)

    if answer:
        assert planned(ask=True).startswith(
            "WOULD BLOCK after 0s: 0 of 1 node drained, not node-1, planned at"
        )
    else:
        with pytest.raises(SystemExit, match="1"):
            planned(ask=True)
    assert questions == ["The plan says that this drain would not finish well"]
    shown = capsys.readouterr().err
    assert "plan: WOULD BLOCK after 0s" in shown
    assert "not read  jobs.batch: the plan does not know Jobs" in shown
    planned(ask=False)  # with --yes
    assert planned(ask=True, force=True).startswith("WOULD FINISH in ")
    assert len(questions) == 1


def test_a_range_is_of_runs_with_one_verdict_and_the_others_are_named(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocked after four minutes at the slowest and finished after twelve at the fastest is no range."""

    def run_once(snapshot: Snapshot, options: PlanOptions, pace: Pace, progress: Progress) -> Run:
        made = run_plan(snapshot, options, Pace.SLOW, progress)
        if pace is Pace.SLOW:
            return replace(made, seconds=240)
        rows = tuple(replace(one, phase="Drained", begins=0, ends=720) for one in made.nodes)
        return replace(made, verdict=Verdict.FINISHES, seconds=720, nodes=rows, blockers=())

    monkeypatch.setattr(report, "run_plan", run_once)
    words = ("node-1", "--from", str(saved), "--no-remedies")
    shown = plan(*words)
    assert shown.exit_code == 5
    text = " ".join(shown.output.split())
    assert "WOULD BLOCK after 4m: 0 of 1 node drained, not node-1; in 1 of 2 runs it finishes in 12m" in text
    found = json.loads(plan(*words, "-o", "json").output)["outcome"]
    assert (found["fastest"], found["slowest"], found["runs"]) == (240, 240, 2)
    assert found["otherwise"] == [
        {"verdict": "Finishes", "runs": 1, "fastest": 720, "slowest": 720, "drained": 1, "withoutRoom": 0}
    ]
    assert "12m" not in ElementTree.tostring(
        ElementTree.fromstring(plan(*words, "-o", "svg").output), "unicode"
    ).replace("it finishes in 12m", "")


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("key", ["vacate.dev/move-before-eviction", "example.com/other"])
def test_a_command_that_has_no_effect_without_vacate_says_so(installed: bool, key: str) -> None:
    """Beside the command: a reader who copies it need not read the assumptions below."""
    command = f"kubectl annotate deployment web {key}=true -n default"
    ways = [BlockerRemedy(text="start a replacement first", command=command)]
    held = Blocker(node="node-1", namespace="default", pod="web", kind="DisruptionBudget", remedies=ways)
    run = Run("slow", Verdict.BLOCKS, 0.0, (), (held,), 1, (), (), (), ())
    apis = ("evictionrequest",) if installed else ()
    snapshot = Snapshot(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), {}, apis=apis)
    shown = "\n".join(plan_lines(Plan(report.outcome_of([run]), run, (run,)), snapshot, 200))
    assert command in shown
    warned = "until it is, annotations of vacate.dev have no effect" in shown
    assert warned == (key.startswith("vacate.dev/") and not installed)
