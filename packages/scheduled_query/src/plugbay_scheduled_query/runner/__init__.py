"""The child process: its `program`, the system's `limits`, the `protocol` with the parent, and `results`."""
