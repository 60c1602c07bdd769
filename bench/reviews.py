"""How much one hostile client of the webhook delays the reviews of others.

`python -m bench.reviews [seconds]`: an embedded cluster and a webhook as processes. One client sends small
reviews of a new EvictionRequest, one after the other. In turn, another process sends reviews of 2.7 MB as
fast as they are answered. Each figure stands below that of the same run without the hostile client. With the
default of 8 seconds for each of the eight lines it takes less than two minutes.
"""

from __future__ import annotations

import collections
import http.client
import itertools
import json
import multiprocessing
import ssl
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.manifests import pod
from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.webhook import running_webhook
from support.reviews import MUTATE, VALIDATE_PODS, review
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.clock import SystemClock
from vacate.pki.issue import new_authority, new_server

LIMIT_MS = 50.0
SIZE = 2_700_000
PRIORITY = "interceptor.evictionrequest.coordination.k8s.io/priority_a.example.com"


class Client:
    """One connection to the webhook."""

    def __init__(self, port: int, authority: bytes) -> None:
        context = ssl.create_default_context(cadata=authority.decode())
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)

    def send(self, path: str, body: bytes) -> int:
        """The code of the answer; of that within the review where there is one."""
        try:
            self._connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return 0
        if answer.status != 200:
            return answer.status
        verdict = json.loads(text)["response"]
        return 200 if verdict["allowed"] else int(verdict["status"]["code"])


def large_requests() -> tuple[str, Obj]:
    """A request with far too many requesters."""
    count = SIZE // 24
    spec = {
        "target": {"podRef": {"name": "web", "uid": "u"}},
        "requesters": [{"name": f"r{number:07}.example"} for number in range(count)],
    }
    return MUTATE, review("CREATE", new={"metadata": {"name": "u"}, "spec": spec}, namespace="default")


def large_pods() -> tuple[str, Obj]:
    """A pod with many variables and one interceptor."""
    made = pod("large")
    made["metadata"]["annotations"] = {PRIORITY: "5"}
    variables = [{"name": f"V{number:07}", "value": "x"} for number in range(SIZE // 32)]
    made["spec"]["containers"][0]["env"] = variables
    return VALIDATE_PODS, review("CREATE", new=made, kind=PODS, namespace="default")


def flood(port: int, authority: bytes, make: str, *, many_names: bool, answers: Any, stop: Any) -> None:
    """Send until stopped, from a process of its own."""
    path, sent = globals()[make]()
    sent["request"]["userInfo"] = {"username": "mallory-0"}
    body = json.dumps(sent).encode()
    client, codes = Client(port, authority), collections.Counter[int]()
    for number in itertools.count():
        if stop.is_set():
            break
        if number == 1:
            answers.put(None)
        name = b"mallory-%d" % number if many_names else b"mallory-0"
        codes[client.send(path, body.replace(b"mallory-0", name, 1))] += 1
    answers.put(dict(codes))


def measure(port: int, authority: bytes, body: bytes, seconds: float) -> list[float]:
    """Milliseconds of each small review."""
    client, found, end = Client(port, authority), [], time.monotonic() + seconds
    assert client.send(MUTATE, body) == 200
    while time.monotonic() < end:
        began = time.perf_counter()
        assert client.send(MUTATE, body) == 200
        found.append(1000 * (time.perf_counter() - began))
        time.sleep(0.01)
    return found


def beside(
    port: int, authority: bytes, body: bytes, seconds: float, make: str, *, many_names: bool
) -> list[float]:
    """The same while another sends large reviews, and what that one is answered."""
    context = multiprocessing.get_context("spawn")
    answers, stop = context.Queue(), context.Event()
    given = (port, authority, make)
    kwargs = {"many_names": many_names, "answers": answers, "stop": stop}
    other = context.Process(target=flood, args=given, kwargs=kwargs)
    other.start()
    answers.get(timeout=60)  # it has got its first answer
    try:
        return measure(port, authority, body, seconds)
    finally:
        stop.set()
        print(f"    answers to the hostile client: {answers.get(timeout=60)}")
        other.join()


def show(what: str, found: list[float]) -> tuple[float, float]:
    """Print a line of a table, and return what it says: the median, and what 99 % of the reviews take."""
    ordered = sorted(found)
    median, most = statistics.median(found), ordered[int(len(ordered) * 0.99)]
    print(
        f"{what:46} {len(found):5} reviews  median {median:7.1f}  99 % {most:7.1f}  max {ordered[-1]:7.1f} ms"
    )
    return median, most


def main() -> int:
    """Print the table; 1 where the median of the others, or their 99 %, grows by the limit or more."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    authority = new_authority("bench", SystemClock().now())
    medians, most = [0.0], [0.0]
    with (
        tempfile.TemporaryDirectory() as name,
        running_cluster(Path(name) / "c", "--nodes", "1", *FAST_PODS) as cluster,
    ):
        pair = new_server(authority, "hook", ["127.0.0.1"], SystemClock().now())
        (Path(name) / "tls.crt").write_bytes(pair.certificate_pem)
        (Path(name) / "tls.key").write_bytes(pair.key_pem)
        made = cluster.https().create(PODS.collection_path("default"), pod("web"))
        with running_webhook(cluster.kubeconfig, "--cert-dir", name) as webhook:
            webhook.wait_ready()
            port, ca = webhook.port, authority.certificate_pem
            uid = made["metadata"]["uid"]
            spec = {
                "target": {"podRef": {"name": "web", "uid": uid}},
                "requesters": [{"name": "a.example.com"}],
            }
            wanted = {"apiVersion": EVICTIONREQUESTS.api_version, "kind": EVICTIONREQUESTS.kind}
            body = json.dumps(
                review("CREATE", new={**wanted, "metadata": {"name": uid}, "spec": spec}, namespace="default")
            ).encode()
            for make, many_names in itertools.product(("large_requests", "large_pods"), (False, True)):
                names = "many user names" if many_names else "one user name"
                alone = measure(port, ca, body, seconds)
                before = show("alone", alone)
                found = beside(port, ca, body, seconds, make, many_names=many_names)
                after = show(f"beside {make.replace('_', ' ')}, {names}", found)
                medians.append(after[0] - before[0])
                most.append(after[1] - before[1])
    print(
        f"the median grows by at most {max(medians):.1f} ms, the 99 % by at most {max(most):.1f} ms; "
        f"the limit of each is {LIMIT_MS:.0f} ms"
    )
    return int(max(*medians, *most) >= LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
