"""Suggested edits: the source a refusal asks about, rewritten so that it exports."""
