"""Any other database that SQLAlchemy knows."""
