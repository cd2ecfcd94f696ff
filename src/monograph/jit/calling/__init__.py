"""Calls in a call that is recorded: interpreted, folded, operators, or graph breaks."""
