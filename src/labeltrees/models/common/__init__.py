"""Code shared by both model families."""
