"""Deferred side effects: what a segment changes outside, made after its graph, in its order."""
