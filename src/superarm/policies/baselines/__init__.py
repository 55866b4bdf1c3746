"""The policies that others are compared with."""
