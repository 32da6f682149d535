"""Searching: requests, searchers and results."""

from labeltrees.search.request import NodeValues, SearchRequest
from labeltrees.search.result import SearchResult, SearchStats
from labeltrees.search.searcher import Predictor, Searcher

__all__ = ["NodeValues", "Predictor", "SearchRequest", "SearchResult", "SearchStats", "Searcher"]
