"""A model as Flower sends it: two arrays by name."""

from flwr.app import Array, ArrayRecord

from superarm.federated.updates import Model


def model_of(arrays: ArrayRecord) -> Model:
    """The arrays of a message, as NumPy has them."""
    return tuple(array.numpy() for array in arrays.values())


def arrays_of(model: Model) -> ArrayRecord:
    """A model, as Flower sends it."""
    return ArrayRecord({name: Array(part) for name, part in zip(("weights", "biases"), model, strict=True)})
