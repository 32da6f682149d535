"""Precision against microseconds for everyone, over their settings: `python -m benchmarks.frontier`."""
