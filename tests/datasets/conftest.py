from tests.datasets.made import own_cache, release

__all__ = ["own_cache", "release"]
