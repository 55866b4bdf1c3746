"""The settings of ``flwr run --run-config``; clients and the server get the same ones."""

from typing import Any

DEFAULTS: dict[str, str | int | bool] = {  # as in pyproject.toml, for runs without `flwr run`
    "data": "digits",  # or "fashion-mnist"
    "clients": 6,  # all must be there before a round starts
    "not-alike": False,  # whether every client prefers some classes
    "rounds": 10,
    "at-most": 4,  # requests in a round
    "seed": 0,
    "folder": "",  # where the session, the model and what was asked are kept; "": nowhere
}


def setting(config: Any, name: str) -> Any:
    """A setting of this run."""
    return config.get(name, DEFAULTS[name])
