"""What operations on values mean: attributes, items, operators, iteration, text."""
