"""A terminal screen in memory: as much of one as the live views of `vacate` use."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)|(\x1b)")
_COLOURS = {30: "black", 31: "red", 32: "green", 33: "yellow", 34: "blue", 35: "magenta", 36: "cyan"}


@dataclass(frozen=True, slots=True)
class Style:
    """How a character is drawn."""

    colour: str = ""
    bold: bool = False
    dim: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One character."""

    text: str = " "
    style: Style = Style()


Line = tuple[Cell, ...]


class Screen:
    """Lines of text below each other; movements go within the last `height` of them."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._lines: list[list[Cell]] = [[]]
        self._row = self._column = 0
        self._style = Style()

    def feed(self, text: str) -> None:
        """What a program has written."""
        for arguments, command, control, plain, _ in _TOKEN.findall(text):
            if command:
                self._command(command, arguments)
            elif control == "\r":
                self._column = 0
            elif control == "\n":
                self._row, self._column = self._row + 1, 0
                self._reach(self._row)
            elif plain:
                self._write(plain)

    def shown(self) -> tuple[Line, ...]:
        """The last lines, as many as the screen has."""
        return tuple(map(tuple, self._lines[-self._height :]))

    def _reach(self, row: int) -> None:
        while len(self._lines) <= row:
            self._lines.append([])

    def _write(self, text: str) -> None:
        while text:
            if self._column == self._width:  # what is longer than the screen is wide goes on in the next line
                self._row, self._column = self._row + 1, 0
                self._reach(self._row)
            piece, text = text[: self._width - self._column], text[self._width - self._column :]
            line = self._lines[self._row]
            line += [Cell()] * (self._column - len(line))
            line[self._column : self._column + len(piece)] = [Cell(one, self._style) for one in piece]
            self._column += len(piece)

    def _command(self, command: str, arguments: str) -> None:
        numbers = [int(one) for one in arguments.strip("?").split(";") if one]
        if command == "A":
            self._row = max(self._row - (numbers or [1])[0], 0)
        elif command == "K":
            self._lines[self._row] = []
        elif command == "m":
            self._style = styled(self._style, numbers or [0])


def styled(style: Style, numbers: list[int]) -> Style:
    """The style after a sequence that selects colours and weight."""
    for number in numbers:
        match number:
            case 0:
                style = Style()
            case 1:
                style = Style(style.colour, bold=True, dim=style.dim)
            case 2:
                style = Style(style.colour, bold=style.bold, dim=True)
            case _ if number % 60 in _COLOURS:
                style = Style(_COLOURS[number % 60], style.bold, style.dim)
    return style
