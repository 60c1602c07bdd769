"""Metadata: what all kinds share on the way into the store.

The order and the repetition of errors follow kube-apiserver: an update checks the metadata as such, then the
step from the old one, and then each kind's own checks may look at parts of it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vacate import errors
from vacate.admission.checks import IMMUTABLE, labels_errors, not_negative
from vacate.admission.nameformats import NameFormat, annotation_key, dns_label, label_key
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, required, too_long
from vacate.api.objects import Obj, metadata
from vacate.api.untyped import mapping, sequence, text

ANNOTATIONS_LIMIT = 256 * 1024
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_NEVER_STORED = ("selfLink", "managedFields")
_FOR_THE_SERVER_ALONE = (*_NEVER_STORED, "deletionTimestamp", "deletionGracePeriodSeconds", "reason")
_FIXED = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "reason",
)  # fmt: skip


def prepare_create(obj: Obj, generation: int | None) -> None:
    """Drop what a creator may not decide; number the first generation where the kind counts them."""
    meta = metadata(obj)
    if meta.get("resourceVersion") not in (None, "", "0"):
        message = "resourceVersion should not be set on objects to be created"
        raise errors.ApiError(message, reason="", code=500)
    for key in _FOR_THE_SERVER_ALONE:
        meta.pop(key, None)
    if generation is not None:
        meta["generation"] = generation


def prepare_update(new: Obj, old: Obj) -> None:
    """Carry over what an update never decides. The kind has its say before this, as in kube-apiserver."""
    meta, before = metadata(new), metadata(old)
    for key in _NEVER_STORED:
        meta.pop(key, None)
    if not meta.get("uid") and before.get("uid"):
        meta["uid"] = before["uid"]
    for key in ("creationTimestamp", "deletionTimestamp"):
        if before.get(key):
            meta[key] = before[key]
    for key in ("deletionGracePeriodSeconds", "reason"):
        if key in before:
            meta.setdefault(key, before[key])


def keep(new: Obj, old: Obj, *keys: str) -> None:
    """Give these fields of an object or of its metadata the values that they had."""
    for key in keys:
        if key in old:
            new[key] = old[key]
        else:
            new.pop(key, None)


def name_errors(meta: Obj, name_format: NameFormat) -> list[FieldError]:
    """The name, and the prefix that it was generated from."""
    found: list[FieldError] = []
    if prefix := text(meta.get("generateName")):
        found += complaints("metadata.generateName", prefix, name_format(prefix, True))
    if name := text(meta.get("name")):
        found += complaints("metadata.name", name, name_format(name, False))
    else:
        found.append(required("metadata.name", "name or generateName is required"))
    return found


def content_errors(meta: Obj, namespaced: bool) -> list[FieldError]:
    """Everything of metadata but the name."""
    found = _namespace_errors(text(meta.get("namespace")), namespaced)
    found += not_negative("metadata", meta, "generation")
    if labels := meta.get("labels"):
        found += labels_errors(labels, "metadata.labels")
    found += annotation_errors(meta)
    if owners := meta.get("ownerReferences"):
        found += owner_errors(sequence(owners))
    if finalizers := meta.get("finalizers"):
        found += _finalizer_errors(finalizers)
    return found


def step_errors(meta: Obj, before: Obj) -> list[FieldError]:
    """What an update does to metadata and may not do."""
    found: list[FieldError] = []
    if before.get("deletionTimestamp"):
        found += _added_finalizer_errors(texts(meta, "finalizers"), texts(before, "finalizers"))
    for key in _FIXED:
        if _given(meta, key) != _given(before, key):
            found.append(invalid(f"metadata.{key}", meta.get(key), IMMUTABLE))
    found += labels_errors(meta.get("labels"), "metadata.labels")
    found += annotation_errors(meta)
    if owners := meta.get("ownerReferences"):
        found += owner_errors(sequence(owners))
    return found


def _given(meta: Obj, key: str) -> object:
    """An empty text counts as absent; a grace period of 0 does not."""
    return None if meta.get(key) == "" else meta.get(key)


def standard_finalizer_errors(finalizers: Sequence[str], path: str) -> list[FieldError]:
    """Names without a prefix belong to Kubernetes; core kinds check that, others do not."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"{path}[{index}]", name, detail)
        for index, name in enumerate(finalizers)
        if "/" not in name and name not in STANDARD_FINALIZERS
    ]


def annotation_errors(meta: Obj, path: str = "metadata.annotations") -> list[FieldError]:
    """Keys and total size of annotations."""
    annotations = mapping(meta.get("annotations"))
    if not annotations:
        return []
    found: list[FieldError] = []
    characters = 0
    for key, value in annotations.items():
        if wrong := annotation_key(key):
            found += complaints(path, key, wrong)
        characters += len(key) + len(text(value))
    # Bytes are counted only where the characters could make too many of them.
    if characters * 4 > ANNOTATIONS_LIMIT and _bytes_of(annotations) > ANNOTATIONS_LIMIT:
        found.append(too_long(path, ANNOTATIONS_LIMIT))
    return found


def texts(owner: Obj, key: str) -> list[str]:
    """The strings of a list."""
    return [item for item in sequence(owner.get(key)) if type(item) is str]


def _namespace_errors(namespace: str, namespaced: bool) -> list[FieldError]:
    path = "metadata.namespace"
    if not namespaced:
        return [forbidden(path, "not allowed on this type")] if namespace else []
    return complaints(path, namespace, dns_label(namespace)) if namespace else [required(path)]


def _finalizer_errors(finalizers: object) -> list[FieldError]:
    path = "metadata.finalizers"
    listed = [item for item in sequence(finalizers) if type(item) is str]
    found = [field_error for name in listed for field_error in complaints(path, name, label_key(name))]
    if _ORPHAN in listed and _FOREGROUND in listed:
        detail = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        found.append(invalid(path, listed, detail))
    return found


def _added_finalizer_errors(new: list[str], old: list[str]) -> list[FieldError]:
    added = sorted({name for name in new if name not in old})
    if not added:
        return []
    listed = ", ".join(f'"{name}"' for name in added)
    detail = (
        "no new finalizers can be added if the object is being deleted,"
        f" found new finalizers []string{{{listed}}}"
    )
    return [forbidden("metadata.finalizers", detail)]


def _bytes_of(annotations: Obj) -> int:
    return sum(
        len(part.encode(errors="surrogatepass"))
        for key, value in annotations.items()
        for part in (key, text(value))
    )


_PATH = "metadata.ownerReferences"


def owner_errors(references: list[Any]) -> list[FieldError]:
    """Errors of all references."""
    found: list[FieldError] = []
    controller = ""
    shown = [_shown(mapping(each)) for each in references]
    for index, reference in enumerate(map(mapping, references)):
        found += _reference_errors(reference, f"{_PATH}[{index}]")
        if reference.get("controller") is not True:
            continue
        name = f"{text(reference.get('kind'))}/{text(reference.get('name'))}"
        if controller:
            detail = (
                "Only one reference can have Controller set to true."
                f' Found "true" in references for {controller} and {name}'
            )
            found.append(invalid(_PATH, shown, detail))
        else:
            controller = name
    return found


def _reference_errors(reference: Obj, path: str) -> list[FieldError]:
    api_version, found = text(reference.get("apiVersion")), list[FieldError]()
    if api_version and not _version(api_version):
        found.append(invalid(f"{path}.apiVersion", api_version, "must be <group>/<version> or <version>"))
    found += [
        required(f"{path}.{key}", "must not be empty")
        for key in ("apiVersion", "kind", "name", "uid")
        if not text(reference.get(key))
    ]
    if reference.get("apiVersion") == "v1" and reference.get("kind") == "Event":
        detail = "/v1, Kind=Event is disallowed from being an owner"
        found.append(invalid(path, _shown(reference), detail))
    return found


def _version(api_version: str) -> str:
    parts = api_version.split("/")
    return parts[-1] if len(parts) <= 2 else ""


def _shown(reference: Obj) -> Obj:
    shown: Obj = {key: text(reference.get(key)) for key in ("apiVersion", "kind", "name", "uid")}
    for key in ("controller", "blockOwnerDeletion"):
        if key in reference:
            shown[key] = reference[key]
    return shown
