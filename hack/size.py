"""How large each package is: lines of code apart from blank lines, imports, docstrings and comments.

    python -m hack.size [FOLDER]

A line counts once, as the first of these that it is: blank, comment, docstring, import, code.
"""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_SKIPPED = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


@dataclass(frozen=True)
class Size:
    """Counts of one file, or of several."""

    code: int = 0
    imports: int = 0
    docstrings: int = 0
    comments: int = 0
    blank: int = 0
    files: int = 0
    functions: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


def size_of(text: str) -> Size:
    """The counts of one file."""
    tree, lines = ast.parse(text), text.splitlines()
    nodes = list(ast.walk(tree))
    docstrings = {line for node in nodes for line in _docstrings(node)}
    imports = {
        line
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    comments = {one.start[0] for one in tokens if one.type == tokenize.COMMENT}
    comments -= {one.start[0] for one in tokens if one.type not in (tokenize.COMMENT, *_SKIPPED)}
    blank = {number for number, line in enumerate(lines, 1) if not line.strip()} - docstrings
    code = len(lines) - len(blank | comments | docstrings | imports)
    imports -= docstrings | blank | comments
    functions = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes)
    return Size(code, len(imports), len(docstrings), len(comments), len(blank), 1, functions)


def _docstrings(node: ast.AST) -> Iterator[int]:
    """The lines of strings that stand alone as statements in the body of a node."""
    body = getattr(node, "body", None)
    for one in body if isinstance(body, list) else ():
        text = one.value.value if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) else None
        if isinstance(text, str):
            yield from range(one.lineno, (one.end_lineno or one.lineno) + 1)


def table(folder: Path) -> dict[str, Size]:
    """The size of each package of a folder, the largest first."""
    found: dict[str, Size] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        package = parts[0] if len(parts) > 1 else "."
        found[package] = found.get(package, Size()) + size_of(path.read_text())
    return dict(sorted(found.items(), key=lambda item: -item[1].code))


def main(folders: list[str]) -> None:
    """Print a table for each folder."""
    for folder in folders or ["src/vacate", "tests"]:
        rows = table(_ROOT / folder)
        rows["all"] = sum(rows.values(), Size())
        print(f"{folder:16}", *(f"{one.name:>10}" for one in fields(Size)))
        for name, size in rows.items():
            print(f"{name:16}", *(f"{count:>10,}" for count in astuple(size)))
        print()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):  # nobody reads on, as `head` does not
        main(sys.argv[1:])
        sys.stdout.flush()
