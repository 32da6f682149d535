"""Models: classifiers trained in a label tree, and the search that answers with them."""
