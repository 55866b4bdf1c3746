"""Nothing here can be collected without Flower, which has an environment of its own: ``make test-slow`` makes it."""

import sys
from importlib.util import find_spec
from pathlib import Path

collect_ignore_glob = [] if find_spec("flwr") else ["*.py"]
sys.path.append(str(Path(__file__).parents[2] / "examples" / "flower_app"))  # the app that is tested
