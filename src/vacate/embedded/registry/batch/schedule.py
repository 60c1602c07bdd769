"""PURE. The schedules of CronJobs: five fields, of which only the form is checked."""

from __future__ import annotations

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_NAMED = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def schedule_complaint(schedule: str) -> str:
    """What is wrong with a schedule; empty where nothing is."""
    if schedule.startswith("@"):
        known = schedule in _NAMED or schedule.startswith("@every ")
        return "" if known else f"unrecognized descriptor: {schedule}"
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for text, (low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in filter(None, text.split(",")):
            if wrong := _part_complaint(part, low, high, names):
                return wrong
    return ""


def _part_complaint(part: str, low: int, high: int, names: dict[str, int]) -> str:
    span, *step = part.split("/")
    bounds = span.split("-")
    if len(bounds) > 2:
        return f"too many hyphens: {part}"
    if len(step) > 1:
        return f"too many slashes: {part}"
    numbers = [] if bounds[0] in ("*", "?") else [_number(one, names) for one in bounds]
    every = _number(step[0], {}) if step else 1
    if every is None or None in numbers:
        wrong = next(one for one in (*bounds, *step) if _number(one, names) is None)
        return f'expected an integer, got "{wrong}"'
    found = [one for one in numbers if one is not None]
    start = found[0] if found else low
    end = found[-1] if found and (len(found) > 1 or not step) else (high if step or not found else start)
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {part}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {part}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {part}"
    return "" if every > 0 else f"step of range should be a positive number: {part}"


def _number(text: str, names: dict[str, int]) -> int | None:
    if text.lower() in names:
        return names[text.lower()]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
