"""The graphs of segments: how they are run, and what they check."""
