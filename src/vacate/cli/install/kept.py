"""The options of an installation: kept in the cluster, so that an upgrade needs only what is to change.

What is kept is what was given on the command line, by the long names of the options, as a file for `--values`
has it. A file that an option names is kept as its text.
"""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from vacate.cli.install.options import INSTALL_OPTIONS
from vacate.errors import ConfigError

Given = dict[str, Any]
"""Values by the long name of their option, without the dashes: texts, numbers, true and false, or lists."""

_META = "vacate.install.given"
ALL = "all"
"""What --reset without a name stands for."""

_NOT_KEPT = "namespace"  # that is where they are kept


class KeptOptions(click.Command):
    """A command that knows which options were given, and how they were written."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; beside it, the texts before they are converted."""
        if not ctx.resilient_parsing and not {"-h", "--help"} & set(args):
            written, _, _ = self.make_parser(ctx).parse_args(list(args))
            ctx.meta[_META] = {
                long_name(one): _as_written(one, written[one.name])
                for one in self.params
                if isinstance(one, click.Option) and one.name in written and long_name(one) in _BY_NAME
            }
        return super().parse_args(ctx, args)


def given_names(ctx: click.Context) -> dict[str, str]:
    """The parameters that this command line sets, by the names of their options."""
    return {name: str(_BY_NAME[name].name) for name in ctx.meta.get(_META, {})}


def given_options(ctx: click.Context) -> Given:
    """The options of this command line, with the texts of the files that they name."""
    written: Given = ctx.meta.get(_META, {})
    return {name: _read(name, value, Path()) for name, value in written.items() if name != _NOT_KEPT}


def read_values(file: Path) -> Given:
    """The options that a file declares; one clear error names the entry that cannot be used."""
    try:
        found = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"--values: {file}: {' '.join(str(error).split())}") from None
    return checked(found, f"--values: {file}", file.parent)


def read_kept(text: str, source: str) -> Given:
    """The options that an installation has; anybody may have written them."""
    try:
        return checked(json.loads(text) if text else {}, source, None)
    except ValueError as error:
        raise ConfigError(f"{source}: {error}; --reset forgets these options") from None


def as_kept(options: Given) -> str:
    """The text of them, for the cluster; none where nothing was given."""
    return json.dumps(dict(sorted(options.items()))) if options else ""


def checked(found: object, source: str, folder: Path | None) -> Given:
    """A mapping of known options to values of their sort. Files are read from the folder, if there is one."""
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise ConfigError(f"{source}: a mapping of options to values is expected, as image: NAME:TAG")
    made: Given = {}
    for key, value in found.items():
        name = str(key)
        if name not in _BY_NAME or name == _NOT_KEPT:
            close = difflib.get_close_matches(name, _BY_NAME, 1)
            hint = f"did you mean {close[0]!r}?" if close else "vacate install --help lists the options"
            raise ConfigError(f"{source}: there is no option {name[:80]!r}; {hint}")
        made[name] = _of_its_sort(_BY_NAME[name], value, f"{source}: {name}")
        if folder is not None:
            made[name] = _read(name, made[name], folder)
    return made


def forgotten(options: Given, names: Sequence[str]) -> Given:
    """These without the named ones, or without all of them but the image, which has no default."""
    if ALL in names:
        return {name: value for name, value in options.items() if name == "image" and name not in names}
    for name in names:
        if name not in _BY_NAME:
            raise click.UsageError(f"--reset: there is no option {name[:80]!r}")
    return {name: value for name, value in options.items() if name not in names}


reset_option = click.option(
    "--reset",
    multiple=True,
    is_flag=False,
    flag_value=ALL,
    metavar="[OPTION]",
    help="Forget this option of the installation, as --reset eviction-bridge, or all of them where none is "
    "named. Can be repeated.",
)
values_option = click.option(
    "--values",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The options of the installation, as YAML: a mapping of their names to values. Those that the "
    "installation had, and that are not in it, are forgotten.",
)


def shown(options: Given) -> list[str]:
    """What an installation keeps, for people."""
    if not options:
        return []
    words = [_words(_BY_NAME[name], name, value, None) for name, value in sorted(options.items())]
    line = " ".join(shlex.quote(word) for some in words for word in some)
    return [f"Kept from the installation: {line}"]


def parsed(options: Given, folder: Path) -> dict[str, Any]:
    """The parameters of `vacate install` with these options. Texts of files are written to the folder."""
    words: list[str] = []
    for name, value in options.items():
        words += _words(_BY_NAME[name], name, value, folder)
    try:
        return _PARSER.make_context("install", words).params
    except click.UsageError as error:
        raise ConfigError(
            f"{error.format_message()}; --reset forgets an option of the installation"
        ) from None


def _words(option: click.Option, name: str, value: Any, folder: Path | None) -> list[str]:
    if isinstance(value, bool):
        names = option.opts if value else option.secondary_opts
        return [one for one in names if one.startswith("--")][:1]  # a flag without an opposite may be false
    if _is_file(option):
        if folder is not None:
            (folder / name).write_text(value)
        value = "FILE" if folder is None else str(folder / name)
    return [f"--{name}={one}" for one in (value if isinstance(value, list) else [value])]


def _as_written(option: click.Option, value: Any) -> Any:
    if option.is_flag:
        return bool(value)
    if option.multiple:
        return [str(one) for one in value]
    return value if isinstance(value, str) else str(option.flag_value)  # one whose value may be left out


def _of_its_sort(option: click.Option, value: object, source: str) -> Any:
    if option.is_flag:
        if not isinstance(value, bool):
            raise ConfigError(f"{source}: true or false is expected")
        return value
    listed = value if isinstance(value, list) and option.multiple else [value]
    if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in listed):
        raise ConfigError(
            f"{source}: {'a list of texts' if option.multiple else 'a text or a number'} is expected"
        )
    texts = [str(one) for one in listed]
    return texts if option.multiple else texts[0]


def _read(name: str, value: Any, folder: Path) -> Any:
    """The text of a file; a value with more than one line is such a text already."""
    if not _is_file(_BY_NAME[name]) or "\n" in value:
        return value
    try:
        return (folder / value).read_text()
    except OSError as error:
        raise ConfigError(f"--{name}: {folder / value}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"--{name}: {folder / value} is not UTF-8 text") from None


def _is_file(option: click.Option) -> bool:
    return isinstance(option.type, click.Path)


def long_name(option: click.Option) -> str:
    """`eviction-bridge` for `--eviction-bridge`."""
    return next(one for one in option.opts if one.startswith("--")).removeprefix("--")


_PARSER = click.Command("install", params=[*INSTALL_OPTIONS])
_BY_NAME = {long_name(one): one for one in INSTALL_OPTIONS}
