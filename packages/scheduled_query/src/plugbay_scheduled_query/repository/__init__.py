"""All SQL of the service against its own store, one file for each concern."""
