"""Programs to come."""
