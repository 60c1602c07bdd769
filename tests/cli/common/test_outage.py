"""What is printed when changes no longer arrive, and when they do again."""

from __future__ import annotations

from typing import Any, cast

import pytest

from vacate.cache.informer import Informer
from vacate.cli.common.outage import FOUND, Outage
from vacate.clock import SystemClock
from vacate.errors import TransportError, VacateError

pytestmark = pytest.mark.unit


class Stub:
    """As much of an informer as is looked at."""

    trouble: VacateError | None = None


def test_once_lost_once_found(capsys: pytest.CaptureFixture[str]) -> None:
    stub, outage = Stub(), Outage(SystemClock())
    informers = [cast(Informer[Any], stub)]
    outage.report(informers)
    assert capsys.readouterr() == ("", "")
    stub.trouble = TransportError("GET /x: no answer")
    stub.trouble.__cause__ = ConnectionRefusedError(111, "refused")
    outage.report(informers)
    outage.report(informers)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        "Z The connection is lost, trying again; what is shown may be old: "
        "the connection is refused, nothing listens there"
    )
    stub.trouble = None
    outage.report(informers)
    assert capsys.readouterr().err.endswith(f"Z {FOUND}\n")
    assert outage.text == ""
