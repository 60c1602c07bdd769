"""The `vacate` command, also as `python -m vacate`."""

from __future__ import annotations


def main() -> None:
    """Load and run the command line; Ctrl-C ends it quietly also while it loads."""
    try:
        from vacate.cli.main import main as run  # noqa: PLC0415  within reach of the handler

        run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
