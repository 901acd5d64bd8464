"""Estimators of operations on neural networks."""
