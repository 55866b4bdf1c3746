"""The command's entry, and ``python -m superarm`` where its script is not on the path."""

import os

INTERRUPTED = 130  # what a shell says of a command that Ctrl-C has ended


def main() -> None:
    """Load the command line and run it; Ctrl-C while it loads ends it without a word."""
    try:
        from superarm.cli import app
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    try:
        app(prog_name="superarm")
    except OSError as error:  # of what is printed before any command begins: help, and the version
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python tries again when it ends
        raise SystemExit(f"superarm: {error.filename or 'standard output'}: {error.strerror or error}") from None


if __name__ == "__main__":  # worker processes import this file too
    main()
