"""All SQL of the service against its own store, one file for each concern.

`definitions.py` and `sources.py` are what people write, `versions.py` what they wrote before, `boards.py` how
they want it shown. `claims.py` takes out what is due, exactly once; `takeover.py` says whose run it is, and
what becomes of the run of a dead process; `recording.py` writes what came back (`bulk.py`: a group at a
time, `series.py`: the samples of its rows, `alert_judging.py`: what its alerts say), and `pruning.py` deletes
what is too much of it. `pauses.py` knows the sources at which nothing may start. `alerts.py`,
`alert_events.py`, `channels.py` and `outbox.py` are whom to tell what. `retiming.py` mends next times.
`history.py` reads the executions of one query, `overview.py` those of all, `gauges.py` what /metrics shows.
`rows.py` turns rows into values.
"""
