"""A run's life, from its due time to the news of its end.

`claiming.py` looks for what is due, claims as much as this process can do, and lets it to the workers in
turn, in slices of one source; its `InFlight` knows what is claimed and not yet recorded. A worker calls
`Service.execute` (`service.py`, where all of it comes together). `executing.py` asks the guard, then a
runner: whatever goes wrong becomes the status of the outcome there. Its `Recorder` writes outcomes in groups,
one transaction each; whoever waits for one is told, and places that became free are claimed for again. Then
`telling.py` speaks of each execution in a log line, an event, counters and a notification, in a thread of its
own. Run Now joins at the workers, before all others. `node.py` says who is alive: the runs of a process that
is gone are taken over at the next tick (`Service.recover`, `repository/takeover.py`). `stuck.py` sees to
sessions that a database does not end, `disk.py` to room for what comes back.
"""
