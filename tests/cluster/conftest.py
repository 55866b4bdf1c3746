"""Tests on a local Ray and on a server that speaks like S3: they need the extra, and an environment of its own."""

import os
import secrets
import urllib.request
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("ray") and find_spec("obstore") and find_spec("moto") else ["*.py"]


@pytest.fixture(scope="session")
def s3():
    """Makes the address of a new bucket of a server that keeps what it is given until the tests end."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    told = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a key",
        "AWS_SECRET_ACCESS_KEY": "a secret",
        "AWS_REGION": "us-east-1",
    }
    os.environ.update(told)
    made = []

    def bucket():
        made.append(f"bucket-{len(made)}")
        urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/{made[-1]}", method="PUT")).close()
        return f"s3://{made[-1]}"

    yield bucket
    for name in told:
        del os.environ[name]
    server.stop()


@pytest.fixture(scope="session")
def ray_workers():
    """A small Ray of two CPUs, ended with the tests."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # or Ray warns of what a later version will do
    os.environ["RAY_AUTH_MODE"], os.environ["RAY_AUTH_TOKEN"] = "token", secrets.token_hex(32)  # for commands that join
    import ray

    from superarm.workers.connect import connect

    told = {"include_dashboard": False, "log_to_driver": False, "logging_level": "warning"}
    ray.init(num_cpus=2, object_store_memory=200 * 2**20, **told)
    yield connect("ray")
    ray.shutdown()
