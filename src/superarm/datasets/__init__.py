"""Data sets: read from the official files, fetched once, or generated to look like them."""
