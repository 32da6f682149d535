"""Tuning: measure models at many settings (`sweep`), and choose one for a limit (`choose`)."""
