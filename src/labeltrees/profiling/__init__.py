"""Profiling: where the time of a model's searches goes, and how long single calls take."""

from labeltrees.profiling.call_times import single_call_microseconds
from labeltrees.profiling.cost_model import CostModel
from labeltrees.profiling.counts import SearchCounts, Visits
from labeltrees.profiling.profiler import profile
from labeltrees.profiling.result import Profile

__all__ = ["CostModel", "Profile", "SearchCounts", "Visits", "profile", "single_call_microseconds"]
