"""Precision against time for all contestants and settings: `python -m benchmarks.frontier`."""
