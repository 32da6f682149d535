"""Tasks with named results, run in this process or on a Dask cluster."""

from labeltrees.tasks.local import LocalRunner
from labeltrees.tasks.results import FolderResults, MemoryResults, Outcome, Result, Results, open_result, write_result
from labeltrees.tasks.task import Runner, Shared, Task, TaskMemory, TaskRecord

__all__ = [
    "FolderResults",
    "LocalRunner",
    "MemoryResults",
    "Outcome",
    "Result",
    "Results",
    "Runner",
    "Shared",
    "Task",
    "TaskMemory",
    "TaskRecord",
    "open_result",
    "write_result",
]
