"""Sweeps: processes, lists, stores, reports, and Ray."""
