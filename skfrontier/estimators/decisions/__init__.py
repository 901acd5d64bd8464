"""Estimators for sequential decisions."""
