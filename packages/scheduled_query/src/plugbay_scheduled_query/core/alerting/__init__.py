"""Alerts as values: what a condition says of a result, how a state follows, and what people are told."""
