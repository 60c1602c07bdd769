"""A plan of faults that can be switched off, so that a scenario may end without them.

What may go wrong is what Kubernetes' contract allows. A request may be lost, its answer may be lost, a server
may refuse it, or fail after it has done its work. A watch may break before any event, lag, fall silent,
expire, or repeat what its client knows; but a stream that lives never skips an event in the middle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from vacate.entropy import Entropy
from vacate.sim.faults.transport import NO_FAULT, Fault
from vacate.wire.message import Request


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often things go wrong: chances from 0 to 1, spans in seconds."""

    requests: float = 0.0  # that something goes wrong with a request
    watches: float = 0.0  # that something goes wrong with a watch
    delay: float = 5.0  # the longest delay of a request
    lag: float = 30.0  # the longest lag of a watch
    rewind: int = 40  # revisions that a watch may repeat, at most
    late: float = 0.0  # the longest time after which a write arrives whose client gave up, or arrives again


_REFUSALS = (429, 500, 502, 503, 504)
_AFTER_THE_WORK = (500, 502, 504)
_WRITES = ("PATCH", "PUT", "DELETE")


class FaultPlan:
    """Draws faults while it is active. One draw decides whether a request is hit at all."""

    def __init__(self, rates: FaultRates, entropy: Entropy) -> None:
        self._rates = rates
        self._entropy = entropy
        self.active = True
        self.drawn: Counter[str] = Counter()  # how often each kind of fault was drawn

    def fault(self, request: Request) -> Fault:
        """What goes wrong with this request."""
        rates = self._rates
        watching = "watch" in request.query
        chance = rates.watches if watching else rates.requests
        if not self.active or chance <= 0 or self._entropy.uniform(0, 1) >= chance:
            return NO_FAULT
        fault = self._of_watch() if watching else self._of_request(request)
        what = "watch" if watching else "request"
        self.drawn.update(f"{what}: {one.name}" for one in fields(fault) if _is_set(fault, one.name))
        return fault

    def _of_request(self, request: Request) -> Fault:
        menu: list[Callable[[], Fault]] = [
            lambda: Fault(delay=self._up_to(self._rates.delay)),
            lambda: Fault(lost=True, delay=self._up_to(self._rates.delay)),
            lambda: Fault(unanswered=True),
            lambda: Fault(status=self._one_of(_REFUSALS)),
            lambda: Fault(status_after=self._one_of(_AFTER_THE_WORK)),
        ]
        if request.method in _WRITES:
            menu.append(lambda: Fault(status=409))
        if self._rates.late and request.method != "GET":
            menu.append(lambda: Fault(late=self._up_to(self._rates.late)))
            menu.append(lambda: Fault(twice=self._up_to(self._rates.late)))
        return menu[self._below(len(menu))]()

    def _of_watch(self) -> Fault:
        menu: list[Callable[[], Fault]] = [
            lambda: Fault(lost=True),
            lambda: Fault(status=self._one_of((410, *_REFUSALS))),
            lambda: Fault(cut_after=self._below(6)),
            lambda: Fault(stall_after=self._below(6)),
            lambda: Fault(lag=self._up_to(self._rates.lag)),
            lambda: Fault(rewind=1 + self._below(self._rates.rewind), repeat=True),
            lambda: Fault(rewind=1 + self._below(self._rates.rewind), cut_after=self._below(6)),
        ]
        return menu[self._below(len(menu))]()

    def _up_to(self, most: float) -> float:
        return self._entropy.uniform(0, most)

    def _below(self, count: int) -> int:
        return min(int(self._entropy.uniform(0, count)), count - 1)

    def _one_of(self, codes: Sequence[int]) -> int:
        return codes[self._below(len(codes))]


def _is_set(fault: Fault, name: str) -> bool:
    value = getattr(fault, name)
    return value is not None and value != getattr(NO_FAULT, name)
