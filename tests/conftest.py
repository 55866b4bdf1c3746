import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# How long an example takes is the machine's affair, and what `make test` says depends on the commit alone:
# `make search` tries examples that nobody has seen.
settings.register_profile("settled", deadline=None, derandomize=True)
settings.register_profile("searching", deadline=None, max_examples=500)
settings.load_profile("settled")


def pytest_addoption(parser):
    parser.addoption("--first-cases", action="store_true", help="of every test only its first case")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--first-cases"):
        return
    first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
    kept = set(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("passed", []):
        for words in (value for name, value in report.user_properties if name == "ran"):
            terminalreporter.write_line(f"ran: {words}")


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    # Many small products: more threads than free cores make them ten times slower.
    with threadpool_limits(1):
        yield
