"""abstract."""
