"""What the embedded cluster stores and does not act on, it says to those who write it."""

from __future__ import annotations

import pytest

from support.arms.objects import cron_job, job
from support.embedded import embedded
from vacate.api.kinds import CRONJOBS, JOBS, Kind
from vacate.api.objects import Obj

pytestmark = pytest.mark.unit

SCHEDULE = "the embedded cluster runs no schedules"


@pytest.mark.parametrize(
    ("kind", "obj", "warning"),
    [
        (CRONJOBS, cron_job("it", suspend=False), SCHEDULE),
        (CRONJOBS, cron_job("it"), ""),
        (JOBS, job("it"), ""),
        (JOBS, job("it", completionMode="Indexed", completions=1), "does not run Indexed Jobs"),
        (JOBS, job("it", podFailurePolicy={"rules": []}), "spec.podFailurePolicy"),
    ],
)
async def test_a_new_object(kind: Kind, obj: Obj, warning: str) -> None:
    async with embedded() as server:
        answer = await server.ask("POST", kind.collection_path("d"), obj)
        assert answer.code == 201
        assert warning in answer.headers.get("Warning", "")
        assert bool(warning) is ("Warning" in answer.headers)


async def test_a_cron_job_that_is_resumed() -> None:
    async with embedded() as server:
        await server.ask("POST", CRONJOBS.collection_path("d"), cron_job("it"))
        changed = await server.ask(
            "PATCH",
            CRONJOBS.object_path("it", "d"),
            {"spec": {"suspend": False}},
            content_type="application/merge-patch+json",
        )
        assert (changed.code, SCHEDULE in changed.headers["Warning"]) == (200, True)
