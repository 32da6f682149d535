"""Searching: what is asked, how it is answered, and what is returned."""

from labeltrees.search.node_values import PerNode
from labeltrees.search.predictor import Predictor
from labeltrees.search.request import SearchRequest
from labeltrees.search.result import SearchResult, SearchStats
from labeltrees.search.searcher import Searcher

__all__ = ["PerNode", "Predictor", "SearchRequest", "SearchResult", "SearchStats", "Searcher"]
