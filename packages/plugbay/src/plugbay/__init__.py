"""A plugin host for FastAPI applications: the names that plugins and applications may import."""
