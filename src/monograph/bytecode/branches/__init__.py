"""Branch execution: copies of a frame run from a conditional jump to its join point."""
