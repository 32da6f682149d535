"""The paper's experiments on data that can be had, claim by claim."""
