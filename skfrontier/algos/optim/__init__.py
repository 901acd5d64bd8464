"""Solvers and optimizers."""
