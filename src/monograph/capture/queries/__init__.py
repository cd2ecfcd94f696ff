"""Guarded queries: what user code can ask about a call beside its inputs' types, and was told."""
