"""Results as charts, tables and one self-contained page."""
