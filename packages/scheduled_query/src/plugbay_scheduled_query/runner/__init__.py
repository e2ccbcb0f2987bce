"""The child process: its `program`, the `limits` of the system, the `protocol` with its parent, its `results`."""
