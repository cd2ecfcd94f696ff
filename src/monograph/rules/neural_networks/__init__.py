"""Layers of neural networks: attention, convolution, pooling, normalisation, losses."""
