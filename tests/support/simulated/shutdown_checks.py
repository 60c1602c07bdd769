"""What must hold of each shutdown of a simulated node, and of the boot after it."""

from __future__ import annotations

from support.simulated.shutdown_node import AGENT, ALONE, BESIDE, BUCKET_SECONDS, KINDS, Place
from vacate.api.kinds import PODS
from vacate.api.untyped import has_condition
from vacate.sim.history import is_healthy

KUBELET_SECONDS = 3.0
"""A kubelet gives 2 seconds to a container after a hook that took all its time; grace periods are whole."""


def check(place: Place, began: float, *, late: float, sure: bool, prepared: bool) -> None:
    """Whatever had happened.

    `late`: by how many seconds the machine may go down later than configured. `sure`: every pod is asked to
    end in time; `prepared`: interceptors were asked before.
    """
    off = place.logind.off_at
    assert off is not None
    assert off - began <= place.total + late + 1.001  # times are floats
    ends: list[float] = []
    for number in range(len(place.buckets)):
        acts, members = [], [f"{kind}-{number}" for kind in KINDS]
        for name in members:
            what = [one for _, one in place.history(name)]
            assert what.count("SIGTERM") == 1 or not (sure or "SIGTERM" in what), (name, what)
            if "SIGTERM" not in what:
                continue
            (at,) = [at for at, one in place.history(name) if one == "SIGTERM"]
            if name in place.hooks:
                assert what.count("preStop begins") == 1, (name, what)
                assert what.index("preStop begins") < what.index("SIGTERM"), (name, what)
                (begins,) = [at for at, one in place.history(name) if one == "preStop begins"]
                # Not before the hook ends, unless its time is over.
                if sure:
                    assert at - begins >= min(place.hooks[name], BUCKET_SECONDS - 10.0) - 0.1, (name, what)
            if name.startswith("intercepted") and prepared:
                place.check_promise(name, at)
            acts += [at for at, _ in place.history(name)]
        if ends and sure:
            assert min(acts) >= max(ends) - (KUBELET_SECONDS if place.subject == ALONE else 0.1)
        ends = [gone(place, name) for name in members]
    written = [place.reported(name) for name in names(place)]
    if not all(written):
        assert off - began >= place.total - 0.1, written  # it was waited for as long as it could be
    if place.subject == BESIDE:
        assert "SIGKILL" not in [what for _, what in place.history(AGENT)]


def names(place: Place) -> list[str]:
    """Of all pods."""
    return [f"{kind}-{number}" for number in range(len(place.buckets)) for kind in KINDS]


def gone(place: Place, name: str) -> float:
    """When the pod had ended, or was killed."""
    return max((at for at, what in place.history(name) if what in ("SIGKILL", "ended")), default=0.0)


async def boot(place: Place) -> None:
    """The next boot: nothing that was terminated starts again, and the API server learns everything."""
    await place.power_off()
    place.away = False
    ended = [name for name in names(place) if "SIGTERM" in [what for _, what in place.history(name)]]
    before = [place.history(name) for name in ended]
    await place.boot()
    if place.subject == ALONE:
        await place.world.until(lambda: all(_settled(place, name, name in ended) for name in names(place)))
    else:
        await place.world.until(lambda: all(place.reported(name) for name in names(place)))
        for name in names(place):
            status = (place.world.find(PODS, name, "default") or {})["status"]
            assert status["containerStatuses"][0]["restartCount"] == 0
            assert status.get("reason") == ("Terminated" if status["phase"] == "Failed" else None), status
    assert [place.history(name) for name in ended] == before


def _settled(place: Place, name: str, ended: bool) -> bool:
    """Whether the pod is gone, or runs on as if nothing had been."""
    found = place.world.find(PODS, name, "default")
    if found is None or ended:
        return found is None
    return is_healthy(found) and not has_condition(found, "DisruptionTarget")
