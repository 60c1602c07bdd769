"""Sends images and charts to a registry, by the API that all registries have.

`REGISTRY_USER` and `REGISTRY_PASSWORD` are used where the registry asks for them. A registry of this machine
is spoken to without TLS, as all tools do.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
import tarfile
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SECONDS = 300.0
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_HERE = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
Document = dict[str, Any]


class RegistryError(Exception):
    """What a registry did not take, and why."""


@dataclass
class Registry:
    """One registry and a path in it, as `registry.example.com/team`."""

    place: str
    credentials: Mapping[str, str] = field(default_factory=dict)
    _authorization: str = ""

    def push_image(self, archives: list[Path], name: str, tag: str) -> str:
        """OCI archives, one for each architecture, under one name; the digest that the registry has now."""
        listed: list[Document] = []
        for archive in archives:
            with tarfile.open(archive) as tar:
                kind, manifest = _manifest_of(tar)
                for blob in [manifest["config"], *manifest["layers"]]:
                    self._push_blob(name, _blob(tar, blob["digest"]))
                config = json.loads(_blob(tar, manifest["config"]["digest"]))
                content = _blob(tar, kind["digest"])
            digest = self._put_manifest(name, content, _MANIFEST)
            about = {"architecture": config["architecture"], "os": config["os"]}
            listed.append({"mediaType": _MANIFEST, "digest": digest, "size": len(content), "platform": about})
        listed.sort(key=lambda one: str(one["platform"]["architecture"]))
        index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": listed}
        return self._put_manifest(name, _json(index), _INDEX, tag)

    def push_chart(self, archive: Path, about: Document) -> str:
        """A chart's archive, with what stands in its Chart.yaml: what `helm push` does."""
        name = f"charts/{about['name']}"
        config, content = _json(about), archive.read_bytes()
        blobs = []
        for kind, blob in ((_CHART_CONFIG, config), (_CHART, content)):
            self._push_blob(name, blob)
            blobs.append({"mediaType": kind, "digest": _digest(blob), "size": len(blob)})
        manifest = {
            "schemaVersion": 2, "mediaType": _MANIFEST, "config": blobs[0], "layers": blobs[1:],
            "annotations": {"org.opencontainers.image.version": str(about["version"])},
        }  # fmt: skip
        return self._put_manifest(name, _json(manifest), _MANIFEST, str(about["version"]))

    def _push_blob(self, name: str, content: bytes) -> None:
        digest = _digest(content)
        if self._call("HEAD", self._path(name, f"blobs/{digest}"), accepted=(200, 404))[0] == 200:
            return
        _, headers, _ = self._call("POST", self._path(name, "blobs/uploads/"), accepted=(202,))
        where = urllib.parse.urlsplit(headers["location"])
        query = "&".join(filter(None, (where.query, urllib.parse.urlencode({"digest": digest}))))
        kind = {"Content-Type": "application/octet-stream"}
        self._call("PUT", f"{where.path}?{query}", content, kind, accepted=(201,))

    def _put_manifest(self, name: str, content: bytes, kind: str, tag: str = "") -> str:
        digest = _digest(content)
        path = self._path(name, f"manifests/{tag or digest}")
        self._call("PUT", path, content, {"Content-Type": kind}, accepted=(201,))
        return digest

    def _path(self, name: str, rest: str) -> str:
        _, _, below = self.place.partition("/")
        return f"/v2/{'/'.join(filter(None, (below, name)))}/{rest}"

    def _call(
        self,
        verb: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        accepted: tuple[int, ...],
    ) -> tuple[int, dict[str, str], bytes]:
        host = self.place.partition("/")[0]
        for attempt in range(2):
            given = {**(headers or {}), "Content-Length": str(len(body))}
            if self._authorization:
                given["Authorization"] = self._authorization
            code, found, text = _request(host, verb, path, body, given)
            if code != 401 or attempt:
                break
            self._authorization = self._authorized(found.get("www-authenticate", ""))
        if code not in accepted:
            shown = text.decode(errors="replace").strip()[:500]
            hint = "; set REGISTRY_USER and REGISTRY_PASSWORD" if code in (401, 403) else ""
            raise RegistryError(f"{host}: {verb} {path.partition('?')[0]}: {code} {shown}{hint}")
        return code, found, text

    def _authorized(self, challenge: str) -> str:
        """What a registry wants to see: the password itself, or a token that another service gives for it."""
        user, password = (self.credentials.get(name, "") for name in ("REGISTRY_USER", "REGISTRY_PASSWORD"))
        basic = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}" if user else ""
        if not challenge.lower().startswith("bearer "):
            return basic
        given = dict(_PARAMETER.findall(challenge))
        realm = urllib.parse.urlsplit(given.pop("realm", ""))
        if realm.scheme != "https" and not _HERE.fullmatch(realm.netloc):
            raise RegistryError(f"{self.place}: its tokens come from {realm.geturl()!r}, which is no https")
        scope = given.get("scope", "").replace(":pull", ":pull,push") if ",push" not in challenge else ""
        query = urllib.parse.urlencode({**given, **({"scope": scope} if scope else {})})
        headers = {"Authorization": basic} if basic else {}
        code, _, text = _request(realm.netloc, "GET", f"{realm.path}?{query}", b"", headers)
        if code != 200:
            raise RegistryError(
                f"{realm.netloc}: no token: {code}; check REGISTRY_USER and REGISTRY_PASSWORD"
            )
        found = json.loads(text)
        return f"Bearer {found.get('token') or found.get('access_token')}"


def _request(
    host: str, verb: str, path: str, body: bytes, headers: Mapping[str, str]
) -> tuple[int, dict[str, str], bytes]:
    make = http.client.HTTPConnection if _HERE.fullmatch(host) else http.client.HTTPSConnection
    connection = make(host, timeout=_SECONDS)
    try:
        connection.request(verb, path, body or None, dict(headers))
        answer = connection.getresponse()
        found = {key.lower(): value for key, value in answer.getheaders()}
        return answer.status, found, answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise RegistryError(f"{host}: {verb} {path.partition('?')[0]}: {error}") from None
    finally:
        connection.close()


def _manifest_of(tar: tarfile.TarFile) -> tuple[Document, Document]:
    for listed in _listed(json.loads(_member(tar, "index.json")), tar):
        return listed, json.loads(_blob(tar, listed["digest"]))
    raise RegistryError(f"{tar.name!r}: holds no image")


def _listed(index: Document, tar: tarfile.TarFile) -> Iterator[Document]:
    for one in index["manifests"]:
        if one["mediaType"] == _INDEX:
            yield from _listed(json.loads(_blob(tar, one["digest"])), tar)
        else:
            yield one


def _blob(tar: tarfile.TarFile, digest: str) -> bytes:
    found = _member(tar, f"blobs/{digest.replace(':', '/')}")
    if _digest(found) != digest:
        raise RegistryError(f"{tar.name!r}: {digest} has other content than its name says")
    return found


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    try:
        opened = tar.extractfile(name)
    except KeyError:
        opened = None
    if opened is None:
        raise RegistryError(f"{tar.name!r}: is no OCI archive: it has no {name}")
    return opened.read()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(document: Document) -> bytes:
    return json.dumps(document, sort_keys=True).encode()
