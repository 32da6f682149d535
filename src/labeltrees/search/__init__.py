"""Searching: requests, searchers and results."""

from labeltrees.search.node_values import NodeValues
from labeltrees.search.predictor import Predictor
from labeltrees.search.request import SearchRequest
from labeltrees.search.result import SearchResult, SearchStats
from labeltrees.search.searcher import Searcher

__all__ = ["NodeValues", "Predictor", "SearchRequest", "SearchResult", "SearchStats", "Searcher"]
