"""Data for solvers and optimizers."""
