"""Error recovery: a capture goes on after a refusal, for all problems and for drafts."""
