"""Linear algebra: products of matrices, einsum, factorisations and solvers."""
