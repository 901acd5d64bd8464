"""Data for estimation with error bars."""
