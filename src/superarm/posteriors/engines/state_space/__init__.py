"""The state-space form of Matern processes on the line: the engine, one step, and sweeps of steps."""
