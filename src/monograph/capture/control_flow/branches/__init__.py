"""Branch capture: both sides of an `if` on data, merged at their join point."""
