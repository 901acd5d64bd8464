"""Estimators for estimation with error bars."""
