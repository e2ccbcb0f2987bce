"""Data sources and safe execution: who may be asked, and child processes that do the asking."""
