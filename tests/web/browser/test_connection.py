"""Who is let in by a real browser, and what it shows when the program is away."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.https import Https
from support.realcluster.evictions import real_cluster
from support.realcluster.users import until_granted
from support.webscene import Scene, broken_cluster, new_context, scene, take, violations
from vacate.api.kinds import DEPLOYMENTS, NODEMAINTENANCES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.workloads import OPT_IN
from vacate.testing.builders import pod as build_pod
from vacate.testing.live import LiveCluster
from vacate.testing.processes import running_cluster

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.web

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def test_the_token_lets_one_browser_in_once(browser: Browser) -> None:
    with scene() as one:
        first, second = new_context(browser), new_context(browser)
        page = first.new_page()
        page.goto(one.address)
        assert "token" not in page.url
        assert page.locator("nav").count() == 1
        late = second.new_page()
        answer = late.goto(one.address)
        assert answer is not None
        assert answer.status == 401
        assert late.locator("nav").count() == 0
        cookie = next(iter(first.cookies()))
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        first.close()
        second.close()


def test_a_page_of_another_site_gets_nothing(entered: BrowserContext, broken: Scene) -> None:
    """It has the browser with the cookie, and can reach the port: by a name of its own, or by its address."""
    page = entered.new_page()
    own = f"http://127.0.0.1:{broken.port}"
    page.route(
        "http://attacker.example/**", lambda route: route.fulfill(body="<p>x", content_type="text/html")
    )
    page.goto("http://attacker.example/")
    read = (
        "async (address) => { try { return (await (await fetch(address, {credentials: 'include'})).text()) } "
        "catch { return 'nothing' } }"
    )
    assert page.evaluate(read, f"{own}/drains") == "nothing"
    heard = (
        "(address) => new Promise(done => { const one = new EventSource(address, {withCredentials: true}); "
        "one.onmessage = () => done('heard'); one.onerror = () => { one.close(); done('nothing') } })"
    )
    assert page.evaluate(heard, f"{own}/events?at=/drains") == "nothing"
    framed = (
        "(address) => new Promise(done => { const one = document.createElement('iframe'); "
        "one.onload = () => done(String(one.contentDocument !== null)); one.src = address; "
        "document.body.append(one) })"
    )
    assert page.evaluate(framed, f"{own}/drains") == "false"
    answer = page.request.get(f"{own}/drains", headers={"Host": "attacker.example"})
    assert answer.status == 403


def test_a_lost_program_is_shown_at_once_and_the_page_comes_back_by_itself(
    browser: Browser, axe: str, pictures: Path
) -> None:
    with scene() as one:
        one.run(broken_cluster(one))
        context = new_context(browser, viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(one.address)
        _verdict(page, "^Stuck: 2 causes")
        page.evaluate("window.here = true")
        one.stop_listening()
        lost = page.locator("#lost")
        lost.wait_for()
        assert re.search(r"has not answered for \d+s", lost.inner_text())
        page.locator("#live-old").filter(has_text=re.compile(r"\d+s old")).wait_for()
        found = take(page, pictures, "lost", axe)
        assert not found, "\n".join(found)
        one.run(one.admin.delete(NODEMAINTENANCES, "kernel-6-12"))
        one.listen()
        page.get_by_text("Kernel 6.12").wait_for(state="detached")
        lost.wait_for(state="hidden")
        page.locator("#live").filter(has_text="Live").wait_for()
        assert page.evaluate("window.here"), "without another load of the page"
        context.close()


def test_a_program_that_was_started_again_says_how_a_page_goes_on(browser: Browser) -> None:
    with scene() as one:
        context = new_context(browser)
        page = context.new_page()
        page.goto(one.address)
        _verdict(page, "^Nothing is stuck")
        page.evaluate("window.here = true")
        one.start_again()
        lost = page.locator("#lost")
        lost.filter(has_text="open the address that it has printed, and this page goes on").wait_for()
        context.new_page().goto(one.address)
        lost.wait_for(state="hidden")
        assert page.evaluate("window.here"), "without another load of the page"
        context.close()


def test_what_is_frozen_is_shown_although_no_connection_breaks(
    browser: Browser, axe: str, pictures: Path
) -> None:
    """First the API server, which the program says; then the program, which the script notices."""
    with scene() as one:
        one.run(broken_cluster(one))
        context = new_context(browser)
        page = context.new_page()
        page.goto(one.address)
        _verdict(page, "^Stuck: 2 causes")
        one.freeze(frozen=True)
        page.get_by_text("The API server has not answered for").wait_for()
        page.locator("#live").filter(has_text=re.compile(r"\d+s old")).wait_for()
        found = take(page, pictures, "offline", axe)
        assert not found, "\n".join(found)
        one.freeze(frozen=False)
        page.get_by_text("The API server has not answered for").wait_for(state="detached")
        page.locator("#live").filter(has_text="Live").wait_for()
        context.close()


def test_a_frozen_program_is_shown_and_its_return_too(browser: Browser, tmp_path: Path) -> None:
    with (
        running_cluster(tmp_path / "cluster") as cluster,
        web_program(cluster.kubeconfig) as (address, program),
    ):
        context = new_context(browser)
        page = context.new_page()
        page.goto(address)
        _verdict(page, "^Nothing is stuck")
        page.evaluate("window.here = true")
        program.send_signal(signal.SIGSTOP)
        try:
            page.locator("#live-old").filter(has_text=re.compile(r"\d+s old")).wait_for()
            assert re.search(r"has not answered for \d+s", page.locator("#lost").inner_text())
        finally:
            program.send_signal(signal.SIGCONT)
        page.locator("#lost").wait_for(state="hidden")
        page.locator("#live").filter(has_text="Live").wait_for()
        assert page.evaluate("window.here"), "without another load of the page"
        context.close()


def _carry_out(page: Page, word: str, question: str) -> None:
    """The action of the page: its dry run is shown, confirmed, done, and leads to what became of it."""
    page.get_by_role("link", name=f"{word}…").click()
    _verdict(page, question)
    page.locator("form.confirm button").click()
    _verdict(page, "^Done:")
    page.get_by_role("link", name="See what becomes of it").click()


def _verdict(page: Page, pattern: str) -> None:
    """Wait until the page says so."""
    from playwright.sync_api import TimeoutError as NotShown  # it is not always installed

    headline = page.get_by_role("heading", level=1)
    try:
        headline.filter(has_text=re.compile(pattern)).wait_for()
    except NotShown as error:
        raise AssertionError(f"{pattern}: {page.url} says {headline.all_inner_texts()}") from error


@contextmanager
def web_program(kubeconfig: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`vacate web` as a user starts it: the address that it prints, and the process."""
    command = [sys.executable, "-m", "vacate", "web", "--no-browser", "--port", "0", "--kubeconfig"]
    with subprocess.Popen(
        [*command, str(kubeconfig), *options], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        try:
            yield program.stdout.readline().removeprefix("Open ").strip(), program
        finally:
            program.terminate()
            program.wait(60)


@contextmanager
def live_cluster(sort: str, folder: Path) -> Iterator[LiveCluster]:
    """An embedded cluster, or a real control plane with Vacate installed."""
    if sort == "embedded":
        with running_cluster(folder, "--pod-start", "0.1", "--pod-stop", "0.2") as cluster:
            yield cluster
        return
    with real_cluster(folder, nodes=2) as real:
        yield LiveCluster(real.kubeconfig)


@pytest.mark.parametrize("sort", ["embedded", "real"])
def test_a_drain_is_watched_from_begin_to_end(
    sort: str, browser: Browser, tmp_path: Path, pictures: Path, axe: str
) -> None:
    """Started by the page, which first shows what would happen. The command of the page frees the pod."""
    with (
        live_cluster(sort, tmp_path / "cluster") as cluster,
        web_program(cluster.kubeconfig) as (address, _),
        ThreadPoolExecutor(1) as elsewhere,  # the driver of the browser has the event loop of this thread
    ):
        elsewhere.submit(cluster.create, *_held_workload()).result(240)
        node = elsewhere.submit(cluster.until, lambda: _node_of(cluster)).result(240)
        context = new_context(browser, viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(address)
        _verdict(page, "^Nothing is stuck")
        site = address.partition("/?")[0]
        page.goto(f"{site}/nodes/{node}")
        page.get_by_role("link", name="Drain…").click()
        _verdict(page, f"^Drain {node}")
        if sort == "embedded":  # the pages are the same on both
            assert not (found := take(page, pictures, "preview", axe)), "\n".join(found)
        assert (
            not elsewhere.submit(cluster._call, lambda client: client.list(NODEMAINTENANCES))
            .result(240)
            .items
        )
        page.locator("form.confirm button").click()
        _verdict(page, "^Done:")
        if sort == "embedded":
            assert not (found := take(page, pictures, "done", axe)), "\n".join(found)
        page.get_by_role("link", name="Drains", exact=True).click()
        _verdict(page, "^Stuck: 1 cause")
        cause = page.get_by_role("article").filter(has_text="default/db never allows an eviction")
        cause.wait_for()
        page.screenshot(path=pictures / f"{sort}-stuck-1280-light.png", full_page=True)
        page.get_by_role("link", name="db-").first.click()
        _carry_out(page, "Try now", "^Try the eviction of db-")
        page.goto(f"{site}/drains")
        page.get_by_role("link", name=re.compile(f"^{node}-|drain")).first.click()
        _carry_out(page, "Try again", "^Try the blocked evictions of drain")
        page.goto(f"{site}/drains")
        command = cause.locator("code").first.text_content() or ""
        assert command == f"kubectl annotate deployment db {OPT_IN}=true -n default"
        change = {"metadata": {"annotations": {OPT_IN: "true"}}}
        elsewhere.submit(
            cluster._call, lambda client: client.patch(DEPLOYMENTS, "db", change, "default")
        ).result(240)
        _verdict(page, "^Nothing is stuck")
        page.get_by_text("Finished drains").wait_for()
        page.screenshot(path=pictures / f"{sort}-drained-1280-light.png", full_page=True)
        if sort == "embedded":
            _a_plan(page, f"{site}/plan?nodes={node}", pictures, axe)
        _the_other_actions(page, site, node, cluster, elsewhere)
        context.close()
        _one_who_may_only_look(browser, cluster.kubeconfig, node, pictures, axe)


def _a_plan(page: Page, address: str, pictures: Path, axe: str) -> None:
    """It is made while the page is open: first the text, then the picture."""
    page.goto(address)
    page.locator("pre.out").wait_for()
    page.locator("main img").wait_for()
    assert (
        page.locator("main img").evaluate("async one => { await one.decode(); return one.naturalWidth }") > 0
    )
    assert not (found := take(page, pictures, "plan-result", axe)), "\n".join(found)


def _the_other_actions(
    page: Page, site: str, node: str, cluster: LiveCluster, elsewhere: ThreadPoolExecutor
) -> None:
    """Each leads to what the command of its name leads to."""
    page.goto(f"{site}/nodes/{node}")
    _carry_out(page, "Uncordon", f"^Uncordon {node}")
    page.get_by_role("link", name="Drain…").wait_for()
    # By annotation: a real API server has no field for it.
    named = {"interceptor.evictionrequest.coordination.k8s.io/priority_backup.example.com": "100"}
    held = build_pod("held", node=node, metadata={"annotations": named})
    elsewhere.submit(cluster.run_pod, held).result(240)
    page.goto(f"{site}/pods/default/held")
    _carry_out(page, "Evict", "^Evict held")
    page.get_by_text("backup.example.com").first.wait_for()
    _carry_out(page, "Cancel request", "^Cancel the eviction of held")
    page.get_by_role("link", name="Evict…").wait_for()
    page.goto(f"{site}/nodes/{node}")
    page.get_by_role("link", name="Drain…").click()
    page.get_by_label("Evict pods that no controller re-creates").check()
    page.get_by_role("button", name="Show what would happen with these").click()
    page.locator("form.confirm button").click()
    _verdict(page, "^Done:")
    page.goto(f"{site}/drains")
    _carry_out(page, "Cancel drain", "^Cancel drain")
    _verdict(page, "^Nothing is stuck")
    assert elsewhere.submit(cluster.find_pod, "held").result(240)["status"]["phase"] == "Running"


def _one_who_may_only_look(browser: Browser, kubeconfig: Path, node: str, pictures: Path, axe: str) -> None:
    """Signs in with a token of their own, at a program that is given the administrator's and uses none."""
    admin = Https.from_kubeconfig(kubeconfig)
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["vacate.dev"], "resources": ["nodemaintenances"], "verbs": ["get", "list", "watch"]},
    ]
    admin.create(accounts, {"metadata": {"name": "looker"}})
    admin.create(f"{RBAC}/clusterroles", {"metadata": {"name": "looker"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "looker", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looker"}
    binding = {"metadata": {"name": "looker"}, "roleRef": role, "subjects": [subject]}
    admin.create(f"{RBAC}/clusterrolebindings", binding)
    until_granted(admin, "system:serviceaccount:default:looker", rules)
    token = admin.create(f"{accounts}/looker/token", {"spec": {}})["status"]["token"]
    with web_program(kubeconfig, "--sign-in", "--metrics-port", "0") as (address, _):
        context = new_context(browser, viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(f"{address}nodes/{node}")
        _verdict(page, "^Sign in to Vacate")
        page.screenshot(path=pictures / "sign-in-1280-light.png", full_page=True)
        assert not violations(page, axe)
        page.get_by_label("Token").fill("not-a-token")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("does not accept this token").wait_for()
        page.goto(f"{address}nodes/{node}")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("You are system:serviceaccount:default:looker.").wait_for()
        assert page.url == f"{address}nodes/{node}"
        assert page.get_by_role("link", name="Drain…").get_attribute("aria-disabled") == "true"
        page.get_by_text("You may not create nodemaintenances").wait_for()
        page.screenshot(path=pictures / "signed-in-1280-light.png", full_page=True)
        admin.call("DELETE", f"{accounts}/looker").ok()  # and with it the token
        _verdict(page, "^Sign in to Vacate")
        context.close()


def _held_workload() -> list[Obj]:
    labels = {"app": "db"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "db", "image": "db"}]}}
    return [
        {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        },
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "db", "namespace": "default"},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod},
        },
    ]  # fmt: skip


def _node_of(cluster: LiveCluster) -> str:
    """The node of the pod, once it is ready."""
    found = cluster._call(lambda client: client.list(PODS, "default"))
    ready = [one for one in found.items if dig(one, "status", "phase") == "Running"]
    return str(ready[0]["spec"]["nodeName"]) if ready else ""
