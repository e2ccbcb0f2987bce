"""One file per kind of database; a runner loads only the one that it serves."""
