"""`vacate install --print`: the objects of the settings, and one clear error for bad options."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.certificates import Authority
from support.yaml_text import yaml_documents
from vacate.cli.main import cli
from vacate.errors import VacateError
from vacate.install import Certificates, Monitoring, Settings, objects
from vacate.install.settings import OwnPods

pytestmark = pytest.mark.unit


def run(*args: str) -> Result:
    """With the image that settings without one have."""
    return CliRunner().invoke(cli, ["install", "--image", Settings().image, "--print", *args])


def printed(*args: str) -> list[object]:
    result = run(*args)
    assert result.exit_code == 0, result.output
    return yaml_documents(result.output)


@pytest.mark.thorough
def test_without_options_the_defaults() -> None:
    assert printed() == objects(Settings())


def test_options_become_settings(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - interceptors: [{name: a.example.com, priority: 5}]\n")
    wanted = Settings(
        image="here:5000/vacate:1",
        pull_secrets=("mine",),
        namespace="leaving",
        manager_replicas=3,
        webhook_replicas=3,
        certificates=Certificates.CERT_MANAGER,
        allowed_interceptors=("a.k8s.io",),
        pod_rules=rules.read_text(),
        pod_webhooks=False,
        network_policy=False,
        definitions=False,
        monitoring=Monitoring.everything(),
    )
    given = printed(
        "--image", "here:5000/vacate:1", "--pull-secret", "mine", "-n", "leaving", "--replicas", "3",
        "--certificates", "cert-manager", "--allow-interceptor", "a.k8s.io", "--pod-rules", str(rules),
        "--no-pod-webhooks", "--no-network-policy", "--no-crds", "--monitoring",
    )  # fmt: skip
    assert given == objects(wanted)


def test_an_image_is_needed_where_something_runs_in_the_cluster(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["install", "--print"])
    assert "--image: name the image" in str(done.exception)
    assert "--image registry.example.com/vacate:" in str(done.exception)
    outside = ["--webhook-url", "https://10.0.0.1:9443", "--no-manager"]
    assert CliRunner().invoke(cli, ["install", "--print", *outside]).exit_code == 0


def test_own_pods(tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text("tolerations: [{operator: Exists}]\nresources: {manager: {limits: {memory: 2Gi}}}\n")
    pods = OwnPods(
        tolerations=({"operator": "Exists"},), resources={"manager": {"limits": {"memory": "2Gi"}}}
    )
    assert printed("--own-pods", str(file)) == objects(Settings(own_pods=pods))


BAD_PODS = {
    "[]": "a mapping with these keys is expected: labels, nodeSelector",
    "toleration: []": "a mapping with these keys is expected",
    "tolerations: {}": "tolerations: a list of mappings is expected",
    "labels: {a: 1}": "labels: a mapping of names to texts is expected",
    "labels: {app.kubernetes.io/name: x}": "labels: app.kubernetes.io/name is a label by which Vacate finds",
    "resources: {limits: {}}": "resources: a mapping of manager, webhook, certificates, hooks or web",
    "priorityClassName: 7": "priorityClassName: a text is expected",
    "a: [": "while parsing",
}


@pytest.mark.parametrize("text", BAD_PODS)
def test_own_pods_that_cannot_be_used_are_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "pods.yaml").write_text(text)
    assert BAD_PODS[text] in str(run("--own-pods", str(tmp_path / "pods.yaml")).exception)


BAD = {
    "an image with a space": (["--image", "a b"], "is not an image"),
    "no image": (["--image", ""], "is not an image"),
    "an image that is YAML": (["--image", "a\nb: c"], "is not an image"),
    "a namespace of the system": (["-n", "kube-system"], "belongs to the cluster"),
    "the default namespace": (["-n", "default"], "belongs to the cluster"),
    "a namespace that is no name": (["-n", "A/B"], "RFC 1123"),
    "plain http": (["--webhook-url", "http://x:1"], "write https://HOST:PORT"),
    "an address with a path": (["--webhook-url", "https://x:1/a"], "write https://HOST:PORT"),
    "an address with a password": (["--webhook-url", "https://a:b@x:1"], "write https://HOST:PORT"),
    "a port that is none": (["--webhook-url", "https://x:99999"], "write https://HOST:PORT"),
    "an address that is none": (["--webhook-url", "https://[x"], "write https://HOST:PORT"),
    "no copies": (["--replicas", "0"], "0 is not in the range"),
    "an unknown gate": (["--feature-gates", "Nope=true"], "unknown feature gate 'Nope'"),
    "a gate without the one that it needs": (
        ["--feature-gates", "EvacuationAPI=true,EvictionRequestAPI=false"],
        "EvacuationAPI=true needs EvictionRequestAPI, which is off",
    ),
    "an unknown policy": (["--pod-failure-policy", "Maybe"], "'Maybe' is not one of"),
    "an interceptor that is no name": (["--allow-interceptor", "a' || true || 'b"], "RFC 1123"),
    "an interceptor with a newline": (["--allow-interceptor", "a.k8s.io\n"], "RFC 1123"),
    "an interceptor without a name": (["--allow-interceptor", ""], "must not be empty"),
    "a secret with a newline": (["--pull-secret", "a\nb: c"], "RFC 1123"),
    "a namespace with a newline": (["-n", "vacate\n"], "RFC 1123"),
    "a namespace that is too long": (["-n", "a" * 64], "63"),
    "a namespace that is a path": (["-n", "../default"], "RFC 1123"),
    "an image that ends in a newline": (["--image", "a:b\n"], "is not an image"),
    "an image that is a template": (["--image", "{{ .Values.x }}"], "is not an image"),
    "an image that is an option": (["--image", "--self-signed"], "is not an image"),
    "no range of addresses": (["--webhook-from", "10.0.0.1/24"], "has host bits set"),
    "a name instead of addresses": (["--metrics-from", "prometheus"], "is not a range of addresses"),
    "addresses without a policy": (
        ["--metrics-from", "10.0.0.0/8", "--no-network-policy"],
        "configure network policies",
    ),
    "a name without a CA": (["--webhook-client-name", "a"], "give it as well"),
    "an image that is too long": (["--image", "a" * 2000], "is not an image"),
    "an address with a newline": (["--webhook-url", "https://x:1\n"], "write https://HOST:PORT"),
    "an address with a space": (["--webhook-url", "https://a b:1"], "write https://HOST:PORT"),
    "an address with a name that is none": (["--webhook-url", "https://-:1"], "write https://HOST:PORT"),
    "gates in two lines": (["--feature-gates", "EvictionRequestAPI=true\n--x"], "EvictionRequestAPI"),
    "no time to wait": (["--wait=0s"], "is not between"),
    "a wait that is no time": (["--wait=soon"], "is not a span of time"),
    "to print and to wait": (["--wait"], "give only one of them"),
    "to print and to look": (["--dry-run"], "give only one of them"),
    "cert-manager outside": (
        ["--webhook-url", "https://x:1", "--certificates", "cert-manager"],
        "is for a webhook in the cluster",
    ),
    "a selector that is none": (
        ["--eviction-bridge", "--bridge-namespaces", "a in b"],
        "is not a label selector",
    ),
    "a selector of numbers": (
        ["--eviction-bridge", "--bridge-namespaces", "a>1"],
        "compares numbers, which label selectors of objects cannot",
    ),
    "a selector without a bridge": (["--bridge-namespaces", "a=b"], "no meaning without --eviction-bridge"),
    "buckets without the agent": (["--shutdown-api", "evacuation"], "give --shutdown-agent as well"),
    "buckets behind a closed gate": (
        ["--shutdown-agent", "--feature-gates", "GracefulNodeShutdownBasedOnPodPriority=false"],
        "shutdownGracePeriodByPodPriority: needs feature gate",
    ),
    "an agent that is switched off": (
        ["--shutdown-agent", "--feature-gates", "GracefulNodeShutdown=false"],
        "terminates no pods in order, since feature gate GracefulNodeShutdown is off",
    ),
    "a file that is not there": (["--ca-file", "/no/such/file"], "does not exist"),
}


@pytest.mark.parametrize(("args", "message"), BAD.values(), ids=BAD)
def test_bad_options_are_one_clear_error(args: list[str], message: str) -> None:
    result = run(*args)
    assert result.exit_code != 0
    output = str(result.exception) if isinstance(result.exception, VacateError) else result.output
    assert message in output
    assert isinstance(result.exception, VacateError | SystemExit)


BOMB = b"a: &a [x, x]\n" + b"".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n".encode() for i in range(24)
)
FILES = {
    "no certificate": ("--ca-file", b"hello", "holds no certificate"),
    "rules that are no text": ("--pod-rules", b"\xff\xfe", "is not UTF-8 text"),
    "rules that are no YAML": ("--pod-rules", b"rules: [\n", "is not YAML"),
    "rules that are a bomb": ("--pod-rules", BOMB, "--pod-rules"),
    "rules with a tag": ("--pod-rules", b"rules: !!python/object/apply:os.system [id]\n", "--pod-rules"),
    "rules in two documents": ("--pod-rules", b"rules: []\n---\nrules: []\n", "--pod-rules"),
    "no rules": ("--pod-rules", b"", "has no rules"),
    "rules of another shape": ("--pod-rules", b"rules: 5", "Expected `array`"),
    "rules that are too long": ("--pod-rules", b"#" * 1_000_000, "larger than"),
}


@pytest.mark.parametrize(("option", "content", "message"), FILES.values(), ids=FILES)
def test_bad_files_are_one_clear_error(option: str, content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    error = run(option, str(file)).exception
    assert isinstance(error, VacateError)
    assert message in str(error)


@pytest.mark.thorough
@pytest.mark.parametrize(("source", "warned"), [((), True), (("--webhook-from", "10.0.0.0/28"), False)])
def test_installing_the_bridge_warns_who_could_use_it(source: tuple[str, ...], warned: bool) -> None:
    result = run("--eviction-bridge", *source)
    assert result.exit_code == 0
    assert ("Warning: --eviction-bridge: any pod that reaches the webhook" in result.stderr) == warned
    assert yaml_documents(result.stdout)


@pytest.mark.thorough
def test_gates_are_written_without_the_space_around_them() -> None:
    wanted = objects(Settings(feature_gates="EvictionRequestAPI=true"))
    assert printed("--feature-gates", " EvictionRequestAPI=true ,\n") == wanted


@pytest.mark.thorough
@pytest.mark.parametrize("url", ["https://[::1]:9443", "https://hook.example.com", "https://10.0.0.1:1/"])
def test_addresses_of_webhooks(url: str) -> None:
    assert printed("--webhook-url", url) == objects(Settings(webhook_url=url.rstrip("/")))


@pytest.mark.thorough
def test_an_authority_goes_into_the_configurations(tmp_path: Path) -> None:
    pem = Authority().pem
    file = tmp_path / "ca.crt"
    file.write_bytes(pem)
    wanted = Settings(webhook_url="https://10.0.0.1:9443", ca_bundle=pem)
    assert printed("--webhook-url", "https://10.0.0.1:9443/", "--ca-file", str(file)) == objects(wanted)
