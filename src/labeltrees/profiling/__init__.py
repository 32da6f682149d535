"""Where the time of a search goes."""
