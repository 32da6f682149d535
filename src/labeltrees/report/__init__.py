"""What a sweep found, for people: charts, and one page with everything."""
