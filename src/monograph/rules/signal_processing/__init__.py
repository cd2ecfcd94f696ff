"""Signal processing: Fourier transforms, numerical gradients and integrals."""
