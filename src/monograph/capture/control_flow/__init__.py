"""Structured control flow: regions recorded as subgraphs, whose states are merged."""
