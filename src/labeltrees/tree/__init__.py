"""Label trees: building, measuring, exchanging."""
