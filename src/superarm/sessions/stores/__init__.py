"""Where journals are kept: the contract of a store, and its members."""
