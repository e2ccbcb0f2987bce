"""The service over HTTP: the JSON API and the pages."""
