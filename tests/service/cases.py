"""Requests as the document of the service allows them, and a bit more: python -m tests.service.cases [--cases 5000].

The test of schemathesis with more cases of each operation; the last line is the summary.
"""

import argparse
import math
import os
import sys

import pytest

OPERATIONS = 24


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    given = parser.parse_args()
    os.environ["SUPERARM_CASES"] = str(math.ceil(given.cases / OPERATIONS))
    ended = pytest.main(["-q", "-m", "slow", "-p", "no:cacheprovider", "tests/service/test_schemathesis.py"])
    if ended:
        return int(ended)
    from tests.service.test_schemathesis import made, statuses

    print(f"{sum(statuses.values())} cases, {len(made)} decisions among them: no 5xx, every answer within the document")
    return 0


if __name__ == "__main__":
    sys.exit(main())
