"""Alerts at work: written by people, played against the past, and told to somebody.

What an alert says of an execution is decided in `core/alerting/` and stored by `repository/`.
"""
