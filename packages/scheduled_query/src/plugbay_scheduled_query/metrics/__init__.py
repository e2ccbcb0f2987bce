"""What /metrics shows: the gauges of queries, and how the service itself is."""
