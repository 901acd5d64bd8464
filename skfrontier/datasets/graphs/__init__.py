"""Graph data."""
