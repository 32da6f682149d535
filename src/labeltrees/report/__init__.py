"""Reports of a sweep: charts, and one HTML page with everything."""
