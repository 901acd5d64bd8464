"""Data for operations on neural networks."""
