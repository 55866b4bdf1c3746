"""The parts of :class:`~superarm.CautiousTCGPUCB`, each to be read by itself."""
