"""An author of hostile content: what anyone may write, and administrators read."""

from __future__ import annotations

import string

from support.realcluster.adversary import (
    PREPARE,
    ROWS,
    TENANTS,
    Site,
    held_in_code,
)
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.times import format_exact_time
from vacate.clock import SystemClock

pytestmark = ROWS
FORGED = "FORGED"
PLAIN = string.printable.translate({ord(one): None for one in "\r\x0b\x0c"})
ODD = {
    "escape sequence": "\x1b]0;owned\x07\x1b[2J",
    "another line": f"done\n{FORGED}: all pods are gone",
    "carriage return": f"done\r{FORGED}",
    "C1 control": "\x9b2J",
    "right to left": "\u202egpj.exe",
    "Hangul fillers": "\u115f\u1160\u3164\uffa0",
    "zero width": "a\u200bb\u2060c\ufeff",
}


class TestContent:
    @held_in_code("row-terminal")
    def test_steers_no_terminal(self, site: Site) -> None:
        request = site.active(PREPARE)
        name, pod = request["metadata"]["name"], request["spec"]["target"]["podRef"]["name"]
        beat = format_exact_time(SystemClock().now())
        change = {"status": {"message": "saved " + " ".join(ODD.values()), "heartbeatTime": beat}}
        site.interceptor.change(EVICTIONREQUESTS, name, change, sub="status").ok()
        for command in ("explain", "status"):
            shown = site.vacate(command, pod, "-n", TENANTS)
            assert shown.returncode == 0, shown.stderr
            text = shown.stdout + shown.stderr
            assert "saved" in text
            odd = {what for what, value in ODD.items() if set(value) & set(text) - set(PLAIN)}
            assert not odd, (command, odd)
            assert not [line for line in text.splitlines() if line.startswith(FORGED)]
