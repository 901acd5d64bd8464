"""Data for sequential decisions."""
