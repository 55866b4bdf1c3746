"""Exact posteriors on a device: the blocked factor, and the array library that it runs on."""
