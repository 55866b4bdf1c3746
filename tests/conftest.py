import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("unhurried", deadline=None)  # how long an example takes is the machine's affair
settings.load_profile("unhurried")


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    # Many small products: more threads than free cores make them ten times slower.
    with threadpool_limits(1):
        yield
