"""Precision of models that were chosen by measurement, ours and the peers'."""
