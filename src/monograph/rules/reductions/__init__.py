"""Reductions, scans, norms, sorting and statistics."""
