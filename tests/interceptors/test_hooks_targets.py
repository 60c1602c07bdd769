"""What pods may name: the administrator's list, and annotations held against it."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.effort import examples
from vacate.errors import ConfigError
from vacate.interceptors.hooks.annotations import HookRefused, HttpHook, JobHook, failure_mode, hook_of
from vacate.interceptors.hooks.names import JOB, ON_FAILURE, TARGET, TIMEOUT
from vacate.interceptors.hooks.targets import AllowList, read_allow_list
from vacate.sdk.values import OnFailure

pytestmark = pytest.mark.unit

FILE = """
targets:
  - name: checkpoint
    url: https://checkpoint.storage.svc:8443/evictions/
    namespaces: [shop]
    allowPaths: true
    tokenFile: /etc/token
    timeoutSeconds: 600
  - name: notify
    url: http://10.0.0.7/hook
    namespaces: ["*"]
jobs:
  namespaces: [shop]
"""
ALLOWED = read_allow_list(FILE, "hooks.yaml")


def test_a_file_is_read() -> None:
    assert list(ALLOWED.targets) == ["checkpoint", "notify"]
    assert ALLOWED.targets["checkpoint"].url == "https://checkpoint.storage.svc:8443/evictions"
    assert ALLOWED.jobs is not None
    assert read_allow_list("", "empty") == AllowList()


def target(**fields: object) -> str:
    made = {"name": "a", "url": "https://a.example.com/", "namespaces": ["shop"], **fields}
    return str({"targets": [made]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("targets: [", "is not YAML"),
        ("- a", "a target has name, url"),
        ("tragets: []", "unknown field"),
        (target(name="A"), r"targets\[0\].name"),
        (target(name=""), r"targets\[0\].name"),
        (target(namespaces=[]), "name those that may use it"),
        (target(namespaces=["Shop"]), r"targets\[0\].namespaces"),
        (target(timeoutSeconds=0), "timeoutSeconds"),
        (target(timeoutSeconds=10**9), "timeoutSeconds"),
        (target(maxCalls=0), "maxCalls"),
        (target(url="http://a/", tokenFile="/t"), "over https only"),
        (str({"targets": 2 * [{"name": "a", "url": "https://a", "namespaces": ["*"]}]}), "named twice"),
        ("jobs: {namespaces: []}", "jobs.namespaces"),
        ("jobs: {namespaces: [shop], timeoutSeconds: -1}", "jobs.timeoutSeconds"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=f"^hooks.yaml: .*{why}"):
        read_allow_list(text, "hooks.yaml")


@pytest.mark.parametrize(
    "url",
    [
        "", "checkpoint", "ftp://a/", "file:///etc/passwd", "https://", "https:///path", "https://a:0/", "https://a:x/",
        "https://user@a/", "https://user:secret@a/", "https://a/?to=b", "https://a/#b", "https://a\\@b/",
        "https://a/../b", "https://a/%2e%2e/", "https://a/ b", "https://a/\n", "https://exämple.com/", "https://a/ü",
        "https://[::1", "unix:///run/x",
    ],
)  # fmt: skip
def test_urls_that_are_no_services(url: str) -> None:
    with pytest.raises(ConfigError, match=r"targets\[0\].url"):
        read_allow_list(target(url=url), "hooks.yaml")


def test_a_pod_names_a_target_and_a_path_below_it() -> None:
    found = hook_of({TARGET: "checkpoint/flush/now"}, "shop", ALLOWED)
    assert isinstance(found, HttpHook)
    assert (found.url, found.timeout) == ("https://checkpoint.storage.svc:8443/evictions/flush/now", 600)
    short = hook_of({TARGET: "notify", TIMEOUT: "1m30s"}, "anywhere", ALLOWED)
    assert isinstance(short, HttpHook)
    assert (short.url, short.timeout) == ("http://10.0.0.7/hook", 90)
    assert hook_of({JOB: "flush"}, "shop", ALLOWED) == JobHook("flush", 300)
    assert hook_of({}, "shop", ALLOWED) is None
    assert failure_mode({}) is OnFailure.HAND_OVER
    assert failure_mode({ON_FAILURE: "Hold"}) is OnFailure.HOLD


@pytest.mark.parametrize(
    ("annotations", "namespace", "why"),
    [
        ({TARGET: "https://evil.example.com/"}, "shop", "names no target.*and no address"),
        ({TARGET: "//evil.example.com"}, "shop", "names no target"),
        ({TARGET: ""}, "shop", "names no target"),
        ({TARGET: "checkpoint@evil"}, "shop", "names no target"),
        ({TARGET: "x" * 300}, "shop", "names no target"),
        ({TARGET: "unknown"}, "shop", "unknown is not allowed for namespace shop"),
        ({TARGET: "checkpoint"}, "billing", "checkpoint is not allowed for namespace billing"),
        ({TARGET: "notify/path"}, "shop", "takes no path"),
        ({TARGET: "checkpoint/../admin"}, "shop", "is not a path"),
        ({TARGET: "checkpoint/a/./b"}, "shop", "is not a path"),
        ({TARGET: "checkpoint//evil"}, "shop", "is not a path"),
        ({TARGET: "checkpoint/"}, "shop", "is not a path"),
        ({TARGET: "checkpoint/%2e%2e/admin"}, "shop", "is not a path"),
        ({TARGET: "checkpoint/a?b"}, "shop", "is not a path"),
        ({TARGET: "checkpoint/a#b"}, "shop", "is not a path"),
        ({TARGET: "checkpoint/a b\r\nHost: evil"}, "shop", "is not a path"),
        ({TARGET: "checkpoint/\u2025"}, "shop", "is not a path"),
        ({TARGET: "checkpoint/\uff0e\uff0e"}, "shop", "is not a path"),
        ({TARGET: "notify", JOB: "flush"}, "shop", "exclude each other"),
        ({TARGET: "notify", TIMEOUT: "6m"}, "shop", "between 1s and 5m"),
        ({TARGET: "notify", TIMEOUT: "0"}, "shop", "is not a span of time"),
        ({TARGET: "notify", TIMEOUT: "soon"}, "shop", "is not a span of time"),
        ({TARGET: "notify", ON_FAILURE: "Ignore"}, "shop", "neither HandOver nor Hold"),
        ({JOB: "../x"}, "shop", "is not the name of a CronJob"),
        ({JOB: ""}, "shop", "is not the name of a CronJob"),
        ({JOB: "flush"}, "billing", "Jobs are not allowed for namespace billing"),
    ],
)
def test_a_hook_that_a_pod_may_not_have(annotations: dict[str, str], namespace: str, why: str) -> None:
    with pytest.raises(HookRefused, match=why) as caught:
        hook_of(annotations, namespace, ALLOWED)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@given(
    st.one_of(st.text(), st.text(alphabet="checkpoint/.%~@:?#\\ \n" + string.ascii_letters)),
    st.sampled_from(["", "checkpoint", "checkpoint/", "notify/", "https://checkpoint/"]),
)
@settings(max_examples=examples(400))
def test_nothing_that_a_pod_says_leads_past_its_target(text: str, before: str) -> None:
    try:
        found = hook_of({TARGET: before + text}, "shop", ALLOWED)
    except HookRefused:
        return
    assert isinstance(found, HttpHook)
    prefix = ALLOWED.targets[found.target.name].url
    assert found.url == prefix or found.url.startswith(prefix + "/")
    assert not {".", "..", ""} & set(found.url.removeprefix(prefix).split("/")[1:])
    assert found.url.isascii()
    assert not set("%?#@\\ \r\n") & set(found.url)
