"""Rules for names, keys and values, each returning its complaints in the words of Kubernetes.

An empty list means that the value is well formed. Lengths are counted in bytes of UTF-8.
"""

from __future__ import annotations

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"

RESERVED_KEYS = r"(^|[.])(kubernetes[.]io|(x-)?k8s[.]io|vacate[.]dev)/"
"""How keys of labels and annotations begin that no company gives to its own, in CEL too."""

_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_KEY_RE = re.compile(_KEY)
_VALUE_RE = re.compile(_VALUE)
_CONFIG_KEY_RE = re.compile(_CONFIG_KEY)
_PERCENT_RE = re.compile(_PERCENT)
_PORT_CHARS_RE = re.compile("[-a-z0-9]+")

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_KEY_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_VALUE_TEXT = f"a valid label must be an empty string or {_KEY_TEXT.removeprefix('must ')}"
_CONFIG_KEY_TEXT = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_PERCENT_TEXT = "a valid percent string must be a numeric string followed by an ending '%'"


def dns1123_label(value: str) -> list[str]:
    """Names of namespaces, containers and the like: at most 63 of a-z, 0-9 and dashes."""
    field_errors = _longer(value, 63, "characters")
    if not _LABEL_RE.fullmatch(value):
        dotted = _SUBDOMAIN_RE.fullmatch(value)
        field_errors.append(
            "must not contain dots" if dotted else _pattern(_LABEL_TEXT, _LABEL, "my-name", "123-abc")
        )
    return field_errors


def dns1123_subdomain(value: str) -> list[str]:
    """Names of most objects: labels joined by dots, at most 253 bytes."""
    field_errors = _longer(value, 253, "characters")
    if not _SUBDOMAIN_RE.fullmatch(value):
        field_errors.append(_pattern(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return field_errors


def without_trailing_dash(prefix: str) -> str:
    """A `generateName` made fit for the rules of names: what follows the dash is yet to come."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def label_key(value: str) -> list[str]:
    """Keys of labels and of much else: an optional `prefix/` and a name of at most 63 bytes."""
    prefix, slash, name = value.rpartition("/")
    if not slash and _KEY_RE.fullmatch(value) and len(value) <= 63:
        return []
    if "/" in prefix:
        tail = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_pattern(_KEY_TEXT, _KEY, 'MyName', 'my.name', '123-abc')}{tail}"]
    field_errors = _key_prefix(prefix) if slash else []
    if not name:
        field_errors.append("name part must be non-empty")
    field_errors += (f"name part {field_error}" for field_error in _longer(name, 63, "bytes"))
    if not _KEY_RE.fullmatch(name):
        field_errors.append(f"name part {_pattern(_KEY_TEXT, _KEY, 'MyName', 'my.name', '123-abc')}")
    return field_errors


def label_value(value: str) -> list[str]:
    """Values of labels: empty, or at most 63 letters, digits, dashes, dots and underscores."""
    field_errors = _longer(value, 63, "bytes")
    if not _VALUE_RE.fullmatch(value):
        field_errors.append(_pattern(_VALUE_TEXT, _VALUE, "MyValue", "my_value", "12345"))
    return field_errors


def annotation_key(value: str) -> list[str]:
    """Keys of annotations: as those of labels, in any case of letters."""
    return label_key(value.lower())


def path_segment(value: str) -> list[str]:
    """Names that need only be safe in a URL, such as those of roles."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> list[str]:
    """A `generateName` for such names."""
    return [f"may not contain '{part}'" for part in ("/", "%") if part in value]


def config_key(value: str) -> list[str]:
    """Keys of the data of config maps."""
    field_errors = _longer(value, 253, "characters")
    if not _CONFIG_KEY_RE.fullmatch(value):
        field_errors.append(_pattern(_CONFIG_KEY_TEXT, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if value in (".", ".."):
        field_errors.append(f"must not be '{value}'")
    elif value.startswith(".."):
        field_errors.append("must not start with '..'")
    return field_errors


def env_name(value: str) -> list[str]:
    """Names of environment variables: anything printable in ASCII but the equals sign."""
    if not value:
        return ["environment variable name must be non-empty"]
    if value.isascii() and value.isprintable() and "=" not in value:
        return []
    return [
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
    ]


def port_name(value: str) -> list[str]:
    """Names of container ports."""
    field_errors = _longer(value, 15, "characters")
    if not _PORT_CHARS_RE.fullmatch(value):
        field_errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        field_errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        field_errors.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        field_errors.append("must not begin or end with a hyphen")
    return field_errors


def port_number(value: int) -> list[str]:
    """Ports of TCP, UDP and SCTP."""
    return [] if 1 <= value <= 65535 else ["must be between 1 and 65535, inclusive"]


def percent(value: str) -> list[str]:
    """Percentages such as `30%`."""
    return [] if _PERCENT_RE.fullmatch(value) else [_pattern(_PERCENT_TEXT, _PERCENT, "1%", "93%")]


def _key_prefix(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    field_errors = _longer(prefix, 253, "bytes")
    if not _SUBDOMAIN_RE.fullmatch(prefix):
        field_errors.append(_pattern(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return [f"prefix part {field_error}" for field_error in field_errors]


def _longer(value: str, limit: int, unit: str) -> list[str]:
    # A quarter of the limit fits however many bytes each character takes.
    if len(value) <= limit // 4 or len(value.encode(errors="surrogatepass")) <= limit:
        return []
    return [f"must be no more than {limit} {unit}"]


def _pattern(text: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"
