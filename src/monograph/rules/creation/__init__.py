"""Factory operators: tensors made of sizes and numbers, and random tensors."""
