"""Periodic tasks and background jobs for Plugbay plugins."""
