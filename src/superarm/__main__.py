"""The command's entry, and ``python -m superarm`` where its script is not on the path."""

INTERRUPTED = 130  # what a shell says of a command that Ctrl-C has ended


def main() -> None:
    """Load the command line and run it; Ctrl-C while it loads ends it without a word."""
    try:
        from superarm.cli import app
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    app(prog_name="superarm")


if __name__ == "__main__":  # worker processes import this file too
    main()
