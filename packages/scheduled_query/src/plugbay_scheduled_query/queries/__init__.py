"""Definitions as people write, try and move them."""
