"""Elementwise operators: dtype promotion and broadcasting; conversions of dtype and layout."""
