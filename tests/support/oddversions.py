"""Versions as clients may write them, and what an API server answers: one table for every server and verb.

API servers read a version as decimal digits of 64 bits: leading zeros change nothing, 0 means none, and what
is no such number is an error of the server's own. A change that names an equal version is judged like one
that names the version as it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from support.arms.arm import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Answer, Arm
from vacate.api.objects import Obj, copied
from vacate.api.types.evictionrequest import IGNORED_REGISTRATION
from vacate.errors import TransportError

OK, CONFLICT, MISSING, UNREADABLE = 200, 409, 422, 500
INVALID = 422
APPLY = "application/apply-patch+yaml"
ABSENT = "absent"

VERSIONS: dict[str, tuple[Callable[[str], Any], int]] = {
    "as read": (lambda read: read, OK),
    "a leading zero": (lambda read: f"0{read}", OK),
    "many leading zeros": (lambda read: "0" * 40 + read, OK),
    "stale": (lambda read: str(int(read) - 1), CONFLICT),
    "stale with zeros": (lambda read: f"00{int(read) - 1}", CONFLICT),
    "future": (lambda read: str(int(read) + 10**6), CONFLICT),
    "largest": (lambda _: str(2**64 - 1), CONFLICT),
    "empty": (lambda _: "", MISSING),
    "zero": (lambda _: "0", MISSING),
    "zeros": (lambda _: "00", MISSING),
    "null": (lambda _: None, MISSING),
    "absent": (lambda _: ABSENT, MISSING),
    "signed": (lambda read: f"+{read}", UNREADABLE),
    "negative": (lambda read: f"-{read}", UNREADABLE),
    "spaced": (lambda read: f" {read}", UNREADABLE),
    "hexadecimal": (lambda read: hex(int(read)), UNREADABLE),
    "with an exponent": (lambda read: f"{read}e0", UNREADABLE),
    "with an underscore": (lambda read: f"{read[:1]}_{read[1:]}", UNREADABLE),
    "of other digits": (lambda read: "".join(chr(0x660 + int(one)) for one in read), UNREADABLE),
    "no number": (lambda _: "abc", UNREADABLE),
    "too large": (lambda _: str(2**64), UNREADABLE),
}
"""How the version is written, and the answer of a kind that demands a version."""

WRITES = ("put", "merge", "json")
"""Writes that every server takes; real ones take `apply` too."""


def code_of(version: str, write: str, *, unconditional: bool = False) -> int:
    """The code with which this write of this version is answered.

    A patch is of the stored object: what it does not name stays, the version too. A kind that may be
    overwritten blindly demands none.
    """
    code = VERSIONS[version][1]
    kept = version == "absent" and write != "put"
    return OK if kept or (unconditional and code == MISSING) else code


async def answers_to(arm: Arm, path: str, write: str, read: Obj, change: Obj, **by: Any) -> dict[str, Answer]:
    """What the server answers to this change of the object, by how its version is written; none is stored."""
    method, found = "PUT" if write == "put" else "PATCH", {}
    for version in VERSIONS:
        body, form = _body(write, version, read, change)
        query = {"dryRun": "All", **({"fieldManager": "odd", "force": "true"} if write == "apply" else {})}
        found[version] = await arm.call(method, path, body=body, content_type=form, query=query, **by)
    return found


async def check_request(arm: Arm, path: str, write: str, read: Obj) -> None:
    """Changes of an EvictionRequest that break rules pass with no version, at `path` or at its status."""
    codes = {version: code_of(version, write) for version in VERSIONS}
    labels: Obj = {"metadata": {"labels": {"a": "b"}}}
    for where, change in ((path, labels), (f"{path}/status", {"status": {"message": "well"}})):
        answers = await answers_to(arm, where, write, read, change)
        assert {version: answer.code for version, answer in answers.items()} == codes, where
    forged = {"annotations": {**read["metadata"]["annotations"], IGNORED_REGISTRATION: "forged"}}
    for version, answer in (await answers_to(arm, path, write, read, {"metadata": forged})).items():
        assert answer.code == codes[version], version
        assert "forged" not in str(answer.obj), version
    early = {"status": {"heartbeatTime": "2030-01-01T00:00:00Z"}}
    for version, answer in (await answers_to(arm, f"{path}/status", write, read, early)).items():
        # Where two things are wrong, which of them is answered depends on who looks first.
        assert answer.code in {INVALID, codes[version]} - {OK}, version


LOST = 0  # kube-apiserver 1.36.4 ends the connection: its decoder does not survive a custom resource
FORMS = {"application/yaml": INVALID, "application/cbor": 415, "application/vnd.kubernetes.protobuf": LOST}
"""Other forms of a body, and how kube-apiserver answers to a forged status in it; others may answer 415."""


async def check_forms(arm: Arm, path: str, read: Obj, codes: Mapping[str, int] = FORMS) -> None:
    """No form of the body hides a forged status or annotation, nor does apply."""
    forged = {"annotations": {**read["metadata"]["annotations"], IGNORED_REGISTRATION: "forged"}}
    early = {"status": {"heartbeatTime": "2030-01-01T00:00:00Z"}}
    for form, code in codes.items():
        for version in ("as read", "a leading zero"):
            body, _ = _body("put", version, read, early)
            assert (await _put(arm, f"{path}/status", body, form)).code == code, (form, version)
            body, _ = _body("put", version, read, {"metadata": forged})
            answer = await _put(arm, path, body, form)
            assert answer.code in (OK, code), (form, version)
            read = (await arm.call("GET", path)).ok()
            assert "forged" not in str(read), (form, version)
            assert "2030" not in str(read), (form, version)


async def _put(arm: Arm, path: str, body: Any, form: str) -> Answer:
    try:
        return await arm.call("PUT", path, body=body, content_type=form)
    except TransportError:
        return Answer(failed=True, code=LOST)


def _body(write: str, version: str, read: Obj, change: Obj) -> tuple[Any, str]:
    """The body of a write that changes so much of the object as it was read, and its content type.

    `change` has whole values of fields of `metadata`, `spec` and the like, by these parts.
    """
    wanted = VERSIONS[version][0](read["metadata"]["resourceVersion"])
    if write == "put":
        new = copied(read)
        for part, fields in change.items():
            new.setdefault(part, {}).update(fields)
        new["metadata"].pop("managedFields", None)
        _name(new["metadata"], wanted)
        return new, "application/json"
    if write == "json":
        patch = [
            {"op": "add", "path": f"/{part}/{field}", "value": value}
            for part, fields in change.items()
            for field, value in fields.items()
        ]
        if wanted != ABSENT:
            patch.append({"op": "add", "path": "/metadata/resourceVersion", "value": wanted})
        return patch, JSON_PATCH
    patched: Obj = copied(change)
    _name(patched.setdefault("metadata", {}), wanted)
    if write in ("merge", "strategic"):
        return patched, MERGE_PATCH if write == "merge" else STRATEGIC_PATCH
    patched |= {key: read[key] for key in ("apiVersion", "kind")}
    patched["metadata"]["name"] = read["metadata"]["name"]
    return patched, APPLY


def _name(meta: Obj, version: Any) -> None:
    if version == ABSENT:
        meta.pop("resourceVersion", None)
    else:
        meta["resourceVersion"] = version
