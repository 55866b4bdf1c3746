"""Nothing here can be collected without Flower, which has an environment of its own: ``make test-slow`` makes it."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("flwr") else ["*.py"]
