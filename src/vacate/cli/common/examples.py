"""Examples at the end of a command's help."""

from __future__ import annotations

from vacate.cli.program import program_name


def examples(*lines: tuple[str, str]) -> str:
    """The block: each command as it is typed, and what it is for."""
    name = program_name()
    longest = max(len(command) for command, _ in lines)
    shown = (f"  {name} {command.ljust(longest)}  # {purpose}" for command, purpose in lines)
    return "\b\nExamples:\n" + "\n".join(shown)
