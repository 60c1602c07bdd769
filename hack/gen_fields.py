"""Write the tables of fields in docs/reference/ from the typed structs of the declared kinds.

python hack/gen_fields.py            writes the table
python hack/gen_fields.py --verify   fails where the committed table differs
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vacate.crds.catalogue import DECLARATIONS
from vacate.crds.customresource import CustomResource
from vacate.crds.evictionrequest import EVICTIONREQUEST
from vacate.crds.schema import structural_schema
from vacate.crds.schema.limitsentences import number_limits

FOLDER = Path(__file__).parent.parent / "docs/reference"
PAGE = FOLDER / "evictionrequest.md"
PAGES = {FOLDER / f"{one.kind.singular}.md": one for one in DECLARATIONS}
HEAD = "| Field | Type | Rules | Description |\n|---|---|---|---|"
START, END = "<!-- fields -->\n", "<!-- end of fields -->\n"
LIMITS = {
    "enum": "one of {}", "default": "default {}", "minimum": "at least {}", "maximum": "at most {}",
    "minLength": "not empty", "maxLength": "at most {} characters", "minItems": "at least {} items",
    "maxItems": "at most {} items", "maxProperties": "at most {} entries",
}  # fmt: skip


def rows(declaration: CustomResource = EVICTIONREQUEST) -> Iterator[str]:
    """A row for each field below spec and status."""
    schema = structural_schema(declaration.struct)
    for part in ("spec", "status"):
        yield from _rows(schema["properties"][part], part, required=part in schema["required"])


def _rows(schema: dict[str, Any], path: str, *, required: bool) -> Iterator[str]:
    yield f"| `{path}` | {_type(schema)} | {_rules(schema, required)} | {schema.get('description', '')} |"
    inner = schema.get("items", schema)
    below = f"{path}[]" if "items" in schema else path
    for key, field in inner.get("properties", {}).items():
        yield from _rows(field, f"{below}.{key}", required=key in inner.get("required", ()))


def _type(schema: dict[str, Any]) -> str:
    if schema.get("format") == "date-time":
        return "time"
    if "type" not in schema:
        return "number or text"
    kind = {"array": "list", "integer": "number", "boolean": "true or false"}.get(schema["type"])
    return kind or ("text" if schema["type"] == "string" else "object")


def _rules(schema: dict[str, Any], required: bool) -> str:
    rules = ["required"] if required else []
    least, most = number_limits(schema)
    limited = {**schema, "minimum": least, "maximum": most}
    for key, text in LIMITS.items():
        if (value := limited.get(key)) is not None:
            rules.append(text.format(_shown(value)))
    if keys := schema.get("x-kubernetes-list-map-keys"):
        rules.append(f"unique by {keys[0]}")
    return ", ".join(rules)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(f"`{one}`" for one in value)
    return f'`"{value}"`' if value == "" else f"`{value}`" if isinstance(value, str | dict) else str(value)


def written(page: str, declaration: CustomResource = EVICTIONREQUEST) -> str:
    """The page with the table as it should be."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    table = "\n".join([HEAD, *rows(declaration)])
    return f"{before}{START}{table}\n{END}{after}"


def main() -> int:
    code = 0
    for path, declaration in PAGES.items():
        page = path.read_text()
        if "--verify" not in sys.argv[1:]:
            path.write_text(written(page, declaration))
        elif page != written(page, declaration):
            print(f"{path} is not current: run python hack/gen_fields.py", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    raise SystemExit(main())
