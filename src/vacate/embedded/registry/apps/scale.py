"""The scale subresource of Deployments and ReplicaSets: reading and writing `spec.replicas`."""

from __future__ import annotations

from vacate.admission import metadata as meta
from vacate.admission.checks import not_negative, readable_selector
from vacate.admission.nameformats import name_is_subdomain
from vacate.api.fielderrors import FieldError
from vacate.api.lenient import child, integer, mapping
from vacate.api.objects import Obj, dig, metadata

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: Obj) -> Obj:
    """The Scale that stands for the object."""
    source = metadata(obj)
    spec = mapping(obj.get("spec"))
    status: Obj = {"replicas": integer(dig(obj, "status", "replicas"))}
    if selector := str(readable_selector(spec.get("selector")) or ""):
        status["selector"] = selector
    replicas = integer(spec.get("replicas"))
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: source[key] for key in _SHOWN if key in source},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def scale_errors(scale: Obj) -> list[FieldError]:
    """Every rule that the Scale breaks; the server reports them about kind Scale of group autoscaling."""
    found = meta.name_errors(metadata(scale), name_is_subdomain)
    found += meta.content_errors(metadata(scale), namespaced=True)
    return found + not_negative("spec", mapping(scale.get("spec")), "replicas")


def apply_scale(obj: Obj, scale: Obj) -> None:
    """Move the replicas into the object in place, and the resourceVersion that the writer has seen."""
    child(obj, "spec")["replicas"] = integer(mapping(scale.get("spec")).get("replicas"))
    meta.keep(metadata(obj), metadata(scale), "resourceVersion")
