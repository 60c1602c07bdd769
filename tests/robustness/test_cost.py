"""No small request keeps the others waiting: work is counted, as calls of functions, and not timed."""

from __future__ import annotations

import pytest

from support.embedded import ADMIN, Embedded, a_pod, embedded
from support.hostile.costly import costly_requests, create, rules_of_a_role
from support.hostile.work import MAX_CALLS, counted
from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, CONFIGMAPS, PODS, ROLES
from vacate.embedded.apiserver.limits import MAX_ENTRIES, MAX_VALUES, check_size
from vacate.errors import RequestTooLarge
from vacate.wire.message import Peer

pytestmark = pytest.mark.unit

REQUESTS = dict(costly_requests(ADMIN))
TENANT = Peer("tenant")


async def populate(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(
        CONFIGMAPS, {"metadata": {"name": "c", "namespace": "d", "uid": "u", "finalizers": ["x/y"]}}
    )


@pytest.mark.thorough(beyond=4)
@pytest.mark.parametrize("name", REQUESTS)
async def test_a_small_request_is_little_work(name: str) -> None:
    async with embedded() as server:
        await populate(server)
        with counted() as work:
            response = await server.server.handle(REQUESTS[name])
        assert work.calls <= MAX_CALLS  # also where the server took the failure for its own
        assert response.status != 500 or b"an internal error" not in response.body  # type: ignore[operator]


async def test_a_role_is_compared_with_what_its_author_holds() -> None:
    """The author is no administrator: everything in the role is looked for in the roles that they have."""
    async with embedded() as server:
        may_write = {"verbs": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}
        held = rules_of_a_role(90)
        await server.seed(
            CLUSTERROLES, {"metadata": {"name": "held"}, "rules": [may_write | {"verbs": ["create"]}, *held]}
        )
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "held"}
        subject = {"kind": "User", "name": "tenant", "apiGroup": "rbac.authorization.k8s.io"}
        await server.seed(
            CLUSTERROLEBINDINGS, {"metadata": {"name": "held"}, "roleRef": ref, "subjects": [subject]}
        )
        assert await _create_role(server, 90) == 201
        assert await _create_role(server, 91) == 403


async def _create_role(server: Embedded, values: int) -> int:
    body = {"metadata": {"name": f"r{values}"}, "rules": rules_of_a_role(values)}
    request = create(ROLES, body)
    request.peer = TENANT
    assert len(request.body) < 3_000
    with counted() as work:
        response = await server.server.handle(request)
    assert work.calls < MAX_CALLS
    return response.status


def test_limits_name_the_place_and_the_number() -> None:
    check_size({"a": {"b": [0] * MAX_ENTRIES}})
    with pytest.raises(RequestTooLarge, match=r"a\.b has 2501 entries, and 2500 is the most"):
        check_size({"a": {"b": [0] * (MAX_ENTRIES + 1)}})
    with pytest.raises(RequestTooLarge, match=r"a\[\]\.b has 2501 entries"):
        check_size({"a": [{"b": {str(number): 0 for number in range(MAX_ENTRIES + 1)}}]})
    with pytest.raises(RequestTooLarge, match=f"more than {MAX_VALUES} values"):
        check_size({"a": [[0] * (MAX_ENTRIES // 2)] * (2 * MAX_VALUES // MAX_ENTRIES)})


async def test_patches_do_not_make_objects_that_could_not_be_created() -> None:
    """Each patch is small; what they make of the object together is not."""
    async with embedded() as server:
        await populate(server)
        codes = []
        for start in range(0, 3_000, 1_000):
            data = {f"k{number}": "" for number in range(start, start + 1_000)}
            path, form = "/api/v1/namespaces/d/configmaps/c", "application/merge-patch+json"
            answer = await server.ask("PATCH", path, {"data": data}, content_type=form)
            codes.append(answer.code)
        assert codes == [200, 200, 413]
