"""Data movement: indexing, gather and scatter, concatenation, padding, data-dependent shapes."""
