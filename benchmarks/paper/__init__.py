"""The paper's claims about Parabel, checked on real data."""
