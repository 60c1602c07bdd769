"""Random requests of users who may not do everything."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from support.arms import objects as make
from support.arms.arm import ANONYMOUS, As, Obj
from support.differential.request import HERE, Ask, base_object, name_in
from support.differential.requests import common
from support.differential.values import FIELDS
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    PODS,
    ROLEBINDINGS,
    ROLES,
    SELFSUBJECTACCESSREVIEWS,
    SUBJECTACCESSREVIEWS,
    Kind,
)

RIGHTS = (ROLES, ROLEBINDINGS, CLUSTERROLES, CLUSTERROLEBINDINGS)
USERS = (
    As(f"{HERE}-jane"),
    As(f"{HERE}-joe", (f"{HERE}-crew",)),
    As(f"system:serviceaccount:{HERE}:robot"),
    As(f"{HERE}-root", ("system:masters",)),
    ANONYMOUS,
)
users = st.sampled_from(USERS)


@st.composite
def grants(draw: st.DrawFn, kind: Kind = ROLES) -> list[Ask]:
    """A role, and a binding of somebody to it."""
    bound = ROLEBINDINGS if kind is ROLES else CLUSTERROLEBINDINGS
    rules = [draw(st.sampled_from(dict(FIELDS[kind])[("rules",)])) for _ in range(2)]
    role = {**base_object(kind, name_in(kind, "a")), "rules": [one for some in rules for one in some or ()]}
    binding = base_object(bound, name_in(bound, "a"))
    crew = {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": f"{HERE}-crew"}
    if draw(st.booleans()):
        binding["subjects"].append(crew)
    return [Ask("POST", kind, body=role), Ask("POST", bound, body=binding)]


@st.composite
def reviews(draw: st.DrawFn) -> Ask:
    """Somebody asks what somebody may do."""
    attributes: Obj = {
        "verb": draw(st.sampled_from(["get", "list", "*", "create", ""])),
        "resource": draw(st.sampled_from(["pods", "configmaps", "roles", "*", "nodes"])),
        "group": draw(st.sampled_from(["", "rbac.authorization.k8s.io", "*"])),
        "namespace": draw(st.sampled_from([HERE, "", "default"])),
        "name": draw(st.sampled_from(["", "a"])),
    }
    path = {"path": draw(st.sampled_from(["/metrics", "/healthz/x", ""])), "verb": "get"}
    spec: Obj = draw(
        st.sampled_from(
            [
                {"resourceAttributes": attributes},
                {"resourceAttributes": attributes},
                {"nonResourceAttributes": path},
                {"resourceAttributes": attributes, "nonResourceAttributes": path},
                {},
            ]
        )
    )
    if draw(st.booleans()):
        return Ask("POST", SELFSUBJECTACCESSREVIEWS, body={"spec": spec}, as_user=draw(users))
    whom: Obj = draw(st.sampled_from([{"user": f"{HERE}-jane"}, {"groups": [f"{HERE}-crew"]}, {}]))
    return Ask("POST", SUBJECTACCESSREVIEWS, body={"spec": {**spec, **whom}})


def by_somebody(asks: st.SearchStrategy[Ask]) -> st.SearchStrategy[Ask]:
    """The same requests, by the administrator and by others."""
    return st.tuples(asks, st.sampled_from([None, *USERS])).map(lambda two: replace(two[0], as_user=two[1]))


@st.composite
def impersonations(draw: st.DrawFn) -> Ask:
    """A request for the rights of a role oneself has not got."""
    kind, user = draw(st.sampled_from([ROLES, CLUSTERROLES])), draw(users)
    name = name_in(kind, draw(st.sampled_from(["a", "b"])))
    rules = draw(st.sampled_from(dict(FIELDS[kind])[("rules",)]))
    return Ask("POST", kind, body={**make.role(name), "rules": rules}, as_user=user)


def rights() -> list[st.SearchStrategy[Ask]]:
    """All of it, together with what is allowed or not."""
    return [
        *(by_somebody(asks) for asks in common((*RIGHTS, PODS, CONFIGMAPS))),
        reviews(),
        impersonations(),
    ]
