import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    # Many small products: more threads than free cores make them ten times slower.
    with threadpool_limits(1):
        yield
