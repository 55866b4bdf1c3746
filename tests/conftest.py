import re

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
    parser.addoption("--without", metavar="WORDS", help="fail where a test is skipped for a reason with none of these")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--first-cases"):
        return
    first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
    kept = set(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def words(text):
    return set(re.findall(r"\w+", text.casefold()))


def not_tested(config):
    """Why tests were skipped, unless ``--without`` has a word of the reason."""
    excused, terminal = config.getoption("--without"), config.pluginmanager.get_plugin("terminalreporter")
    if excused is None or terminal is None:  # a worker has no terminal
        return []
    reasons = {report.longrepr[2].removeprefix("Skipped: ") for report in terminal.stats.get("skipped", [])}
    return sorted(reason for reason in reasons if not words(reason) & words(excused))


def pytest_sessionfinish(session):
    if session.exitstatus == pytest.ExitCode.OK and not_tested(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    for report in terminalreporter.stats.get("passed", []):
        for ran in (value for name, value in report.user_properties if name == "ran"):
            terminalreporter.write_line(f"ran: {ran}")
    for reason in not_tested(config):
        terminalreporter.write_line(f"not tested: {reason} (a word of this in WITHOUT goes on without it)", red=True)


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    # Many small products: more threads than free cores make them ten times slower.
    with threadpool_limits(1):
        yield
