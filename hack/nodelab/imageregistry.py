"""A registry of images inside of the namespaces: what a release pushes, the kubelets pull."""

from __future__ import annotations

import time
from pathlib import Path

from hack.kubelab.children import start_child
from hack.kubelab.health import Probe
from hack.kubelab.release import KubeError
from hack.nodelab.image import IMAGE
from hack.nodelab.settings import REGISTRY
from hack.registry import Registry, RegistryError

PACKAGES = ("docker-registry",)
_PORT = REGISTRY.rpartition(":")[2]
_SECONDS = 60.0
_CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "0.0.0.0:{port}"}}
"""


def serve_image(packages: Path, folder: Path, archive: Path, log: Path) -> str:
    """Start the registry with the image of the archive; what nodes pull that by."""
    folder.mkdir()
    config = folder / "config.yaml"
    config.write_text(_CONFIG.format(folder=folder / "images", port=_PORT))
    with log.open("ab") as out:
        child = start_child([str(packages / "usr/bin/docker-registry"), "serve", str(config)], stdout=out)
    answers = Probe(f"http://127.0.0.1:{_PORT}/v2/")
    end = time.monotonic() + _SECONDS
    while reason := answers.failure():
        if child.poll() is not None or time.monotonic() > end:
            raise KubeError(f"the registry of images does not answer: {reason}\n{log.read_text()}")
        time.sleep(0.1)
    name, _, tag = IMAGE.rpartition("/")[2].partition(":")
    try:
        Registry(f"127.0.0.1:{_PORT}").push_image([archive], name, tag)
    except RegistryError as error:
        raise KubeError(str(error)) from error
    return f"{REGISTRY}/{name}:{tag}"
