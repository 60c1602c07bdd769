"""Prometheus beside a real cluster, configured by its operator with what to scrape and when to alert.

The operator writes a configuration and rules into the cluster; a pod would mount them. Here they are read
from the cluster and given to Prometheus as they are, but for what a machine without a cluster's network
needs: rules lie in another folder, and scrapes are frequent, so that nobody has to wait for them.
"""

from __future__ import annotations

import base64
import gzip
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from hack.kubelab.control_plane import ControlPlane
from hack.kubelab.ports import reserve_port

from support.https import Https, Obj
from support.realcluster.kube_peers import running_peer
from support.waiting import LIMIT, until
from vacate.api.installednames import METRICS_PORT

API = "monitoring.coreos.com/v1"
NAME = "all"
_OFTEN = "2s"
_TIMEOUT = LIMIT
_OF_THE_POD = {"SHARD": "0", "POD_NAME": f"prometheus-{NAME}-0"}  # which the operator's reloader fills in


class Prometheus:
    """Questions to a running Prometheus."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ask(self, path: str, **query: str) -> Any:
        """The data of an answer."""
        url = f"{self._address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Labels and value of every series of the answer."""
        found = self.ask("query", query=expression)["result"]
        return [(one["metric"], float(one["value"][1])) for one in found]

    def parsed(self, expression: str) -> Obj:
        """The expression as a tree."""
        tree: Obj = self.ask("parse_query", query=expression)
        return tree

    def is_up(self) -> bool:
        try:
            return bool(self.ask("targets"))
        except (OSError, AssertionError):
            return False


def nodes_of(tree: Any) -> Iterator[Obj]:
    """Every part of a parsed expression."""
    if isinstance(tree, dict):
        if "type" in tree:
            yield tree
        for value in tree.values():
            yield from nodes_of(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes_of(value)


def selector_of(node: Obj) -> str:
    """The selector of a node, as text."""
    matchers = ", ".join(f"{one['name']}{one['type']}{json.dumps(one['value'])}" for one in node["matchers"])
    return f"{{{matchers}}}"


@contextmanager
def operating(plane: ControlPlane) -> Iterator[None]:
    """The operator, at work on that control plane."""
    identity = str(plane.layout.kubelet_client)
    options = (
        f"--apiserver={plane.address}", f"--ca-file={plane.layout.authority}", f"--cert-file={identity}",
        f"--key-file={identity}", f"--web.listen-address=127.0.0.1:{reserve_port()}", "--log-level=warn",
    )  # fmt: skip
    with running_peer(plane.layout.logs / "prometheus-operator.log", "prometheus-operator", *options):
        yield


def everything_here(plane: ControlPlane, namespace: str, ports: Mapping[str, int]) -> Obj:
    """A Prometheus for all that this namespace wants watched. Addresses lead to ports of this machine."""
    identity = str(plane.layout.kubelet_client)
    tls = {"caFile": str(plane.layout.authority), "certFile": identity, "keyFile": identity}
    ways = [
        {
            "sourceLabels": ["__address__"],
            "regex": f"{address}:{METRICS_PORT}",
            "targetLabel": "__address__",
            "replacement": f"127.0.0.1:{port}",
        }
        for address, port in ports.items()
    ]
    return {
        "apiVersion": API,
        "kind": "Prometheus",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "replicas": 0,  # it runs beside the cluster
            "serviceMonitorSelector": {},
            "ruleSelector": {},
            "serviceDiscoveryRole": "EndpointSlice",
            "apiserverConfig": {"host": plane.address, "tlsConfig": tls},
            "scrapeClasses": [{"name": "here", "default": True, "relabelings": ways}],
        },
    }


def endpoint_slice(service: str, namespace: str, addresses: Sequence[str]) -> Obj:
    """Where the pods of a Service are; each has the name of a pod."""
    pods = [
        {
            "addresses": [address],
            "conditions": {"ready": True},
            "targetRef": {"kind": "Pod", "name": f"{service}-{place}", "namespace": namespace},
        }
        for place, address in enumerate(addresses)
    ]
    return {
        "metadata": {"name": f"{service}-here", "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "endpoints": pods,
        "ports": [{"name": "metrics", "port": METRICS_PORT, "protocol": "TCP"}],
    }


@contextmanager
def scraping(plane: ControlPlane, namespace: str, jobs: int) -> Iterator[Prometheus]:
    """Prometheus with what the operator has written, once that is so many jobs and the rules."""
    admin, folder = Https.from_kubeconfig(plane.kubeconfig), plane.layout.root / "prometheus"
    (folder / "rules").mkdir(parents=True)
    written = until(lambda: _written(admin, namespace, jobs), _TIMEOUT)
    for name, text in written["rules"].items():
        (folder / "rules" / name).write_text(text)
    file = folder / "prometheus.yaml"
    file.write_text(yaml.safe_dump(_for_this_machine(written["config"], plane, folder)))
    port = reserve_port()
    options = (
        f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
    )  # fmt: skip
    with running_peer(plane.layout.logs / "prometheus.log", "prometheus", *options):
        prometheus = Prometheus(f"http://127.0.0.1:{port}")
        until(prometheus.is_up, _TIMEOUT)
        yield prometheus


def _written(admin: Https, namespace: str, jobs: int) -> Obj:
    """What the operator has written, when it is complete."""
    here = f"/api/v1/namespaces/{namespace}"
    secret = admin.get(f"{here}/secrets/prometheus-{NAME}")
    rules = admin.get(f"{here}/configmaps/prometheus-{NAME}-rulefiles-0")
    if secret.code != 200 or rules.code != 200 or not rules.obj.get("data"):
        return {}
    packed = secret.obj.get("data", {}).get("prometheus.yaml.gz", "")
    text = gzip.decompress(base64.b64decode(packed)).decode() if packed else "{}"
    for variable, value in _OF_THE_POD.items():
        text = text.replace(f"$({variable})", value)
    config = yaml.safe_load(text)
    complete = len(config.get("scrape_configs") or ()) == jobs
    return {"config": config, "rules": rules.obj["data"]} if complete else {}


def _for_this_machine(config: Obj, plane: ControlPlane, folder: Path) -> Obj:
    identity = str(plane.layout.kubelet_client)
    tls = {"ca_file": str(plane.layout.authority), "cert_file": identity, "key_file": identity}
    servers = {
        "job_name": "apiserver",
        "scheme": "https",
        "tls_config": tls,
        "static_configs": [{"targets": [plane.address.removeprefix("https://")]}],
    }
    often = {"scrape_interval": _OFTEN, "scrape_timeout": _OFTEN}
    return {
        **config,
        "global": {**config["global"], **often, "evaluation_interval": _OFTEN},
        "rule_files": [str(folder / "rules" / "*.yaml")],
        "scrape_configs": [{**job, **often} for job in (*config["scrape_configs"], servers)],
    }
