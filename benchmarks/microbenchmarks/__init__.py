"""Parts of the core timed alone, in programs of their own."""
