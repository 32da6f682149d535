"""Reading, checking and writing data."""
