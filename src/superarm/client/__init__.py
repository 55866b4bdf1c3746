"""Sessions of a service, with the interface of those at hand; it needs the extra ``client``."""
