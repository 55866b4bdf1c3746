"""``python -m superarm``: the command line, where its script is not on the path."""

from superarm.cli import app

if __name__ == "__main__":  # worker processes import this file too
    app(prog_name="superarm")
