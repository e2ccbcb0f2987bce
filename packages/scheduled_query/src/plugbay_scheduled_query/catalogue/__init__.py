"""Which data sources there are, from the store and from the settings."""
