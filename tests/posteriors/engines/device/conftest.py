import pytest

from superarm.posteriors.engines import factor as host
from superarm.posteriors.engines.device import devices, factor
from tests.posteriors.engines.device.numpy_arrays import NumpyArrays


@pytest.fixture
def card(monkeypatch):
    """A card that is NumPy, with blocks so small that some dozens of contexts fill several."""
    numpy_arrays = NumpyArrays()
    monkeypatch.setattr(devices, "arrays_of", lambda device: numpy_arrays)
    monkeypatch.setattr(factor, "arrays_of", lambda device: numpy_arrays)
    monkeypatch.setattr(host, "BLOCK", 8)
    monkeypatch.setattr(factor, "BLOCK", 16)
    monkeypatch.setattr(factor, "WORKSPACE", 8 * 96 * 5)  # some 5 candidates at a time
    return numpy_arrays
