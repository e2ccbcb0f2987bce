"""The thinking part of the service: no web, no database; values in, values out."""
