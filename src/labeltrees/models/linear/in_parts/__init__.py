"""Training on a dataset in parts: stages of independent tasks, whose results are files."""
