"""Estimation with error bars."""
