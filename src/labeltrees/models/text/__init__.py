"""TextLabelTreeClassifier: hierarchical softmax over texts."""
