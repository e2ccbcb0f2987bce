"""A run's life: claimed, executed, recorded, told."""
