"""Estimators that are fitted by solvers of their own."""
