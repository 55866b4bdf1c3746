"""Sessions of a service, with the interface of local ones; it needs the extra ``client``."""
