"""Estimators on graphs."""
