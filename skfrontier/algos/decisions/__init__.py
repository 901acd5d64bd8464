"""Algorithms for sequential decisions."""
