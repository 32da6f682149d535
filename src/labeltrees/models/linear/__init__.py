"""LabelTreeClassifier: linear classifiers in a label tree."""
