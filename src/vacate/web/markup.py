"""PURE. A tree of elements: as HTML for the first paint, and as parts by key for what changes later.

Text is escaped where HTML is written and nowhere else. The script of the page builds what it is sent with
createElement and textContent, so that a name or a message of others is text in both cases. Names of elements
and attributes come from this program; an address must be one of its own.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Union

import msgspec

KEY = "data-k"
"""The attribute that holds the key of an element, by which the script finds it."""

TICKING = "data-t"
"""Of a `time` element whose text the script writes once a second."""

_VOID = frozenset({"img", "meta", "link", "input", "wbr", "br"})
_OWN_ADDRESSES = ("/", "#", "?")
_ADDRESSES = frozenset({"href", "src", "action"})


class Element(msgspec.Struct, frozen=True, gc=False):  # a page has thousands, and no cycles
    """An element, its attributes, and what is inside. With a key it is sent alone when it changes."""

    tag: str
    attributes: Mapping[str, str] = {}
    children: tuple[Union[Element, str], ...] = ()  # noqa: UP007  evaluated with the class
    key: str = ""


Child = Element | str
Content = Child | Iterable["Content"] | None


def el(tag: str, classes: str = "", *content: Content, key: str = "", **attributes: str | None) -> Element:
    """An element. `aria_label` is the attribute aria-label, `for_` is for; None leaves an attribute out."""
    named = {"class": classes} if classes else {}
    for given, value in attributes.items():
        if value is None:
            continue
        name = given.rstrip("_").replace("_", "-")
        if name in _ADDRESSES and not value.startswith(_OWN_ADDRESSES):
            raise ValueError(f"a link leads to a page of this program, not to {value!r}")
        if name.startswith("on"):
            raise ValueError(f"an attribute that runs a script: {name}")
        named[name] = value
    if key:
        named[KEY] = key
    children: list[Child] = []
    _flatten(content, children)
    return Element(tag, named, tuple(children), key)


def link_away(address: str, text: str) -> Element:
    """A link to another site. The address is an option of the program, never what the cluster says."""
    if not address.startswith(("https://", "http://")):
        raise ValueError(f"a link away leads to a site, not to {address!r}")
    return Element("a", {"href": address, "rel": "noreferrer noopener", "target": "_blank"}, (text,))


def _flatten(content: Iterable[Content], into: list[Child]) -> None:
    """What is inside, without nesting and without what is not there."""
    for one in content:
        if isinstance(one, str | Element):
            if one != "":
                into.append(one)
        elif one is not None:
            _flatten(one, into)


def to_html(node: Child) -> str:
    """The tree as HTML."""
    pieces: list[str] = []
    _write(node, pieces)
    return "".join(pieces)


def _write(node: Child, pieces: list[str]) -> None:
    if isinstance(node, str):
        pieces.append(html.escape(node, quote=False))
        return
    pieces.append(f"<{node.tag}")
    pieces += [
        f' {name}="{html.escape(value)}"' if value else f" {name}" for name, value in node.attributes.items()
    ]
    pieces.append(">")
    if node.tag in _VOID:
        return
    for child in node.children:
        _write(child, pieces)
    pieces.append(f"</{node.tag}>")


def parts_of(root: Element) -> dict[str, bytes]:
    """Each element with a key as JSON: [tag, attributes, children], where others with a key are `{"k": key}`.

    The text of a ticking time is left out: the script writes it, and it alone is no change.
    """
    found: dict[str, bytes] = {}
    _collect(root, found)
    return found


def _collect(node: Element, found: dict[str, bytes]) -> None:
    if node.key in found:
        raise ValueError(f"two elements with the key {node.key!r}")
    found[node.key] = b""  # its place, before those inside: the script makes the outer one first
    found[node.key] = msgspec.json.encode(_shell(node, found))


def _shell(node: Element, found: dict[str, bytes]) -> list[object]:
    if TICKING in node.attributes:
        return [node.tag, node.attributes, []]
    children: list[object] = []
    for child in node.children:
        if isinstance(child, str):
            children.append(child)
        elif child.key:
            _collect(child, found)
            children.append({"k": child.key})
        else:
            children.append(_shell(child, found))
    return [node.tag, node.attributes, children]


def difference(sent: Mapping[str, bytes], now: Mapping[str, bytes]) -> dict[str, msgspec.Raw]:
    """The parts that were not sent as they are now; those that are gone follow from what they were in."""
    return {key: msgspec.Raw(part) for key, part in now.items() if sent.get(key) != part}
