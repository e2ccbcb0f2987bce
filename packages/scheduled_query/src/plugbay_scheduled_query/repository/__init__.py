"""All SQL of the service against its own store, one file for each concern.

`definitions.py` and `sources.py` are what people write. `claims.py` takes out what is due, exactly once;
`takeover.py` says whose run it is, and what becomes of the run of a dead process; `recording.py` writes what
came back, and `pruning.py` deletes what is too much of it. `retiming.py` mends next times. `history.py` reads
the executions of one query, `overview.py` those of all, `gauges.py` what /metrics shows. `rows.py` turns rows
into values.
"""
