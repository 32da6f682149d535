"""Two builds of labeltrees side by side: `benchmarks.same_results` and `benchmarks.compare_builds`.

`build.py` starts scripts under a build. `inputs.py`, `digests.py` and `timings.py` run under either build, so they use
public names of labeltrees only and import nothing else from this repository.
"""
