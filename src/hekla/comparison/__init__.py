"""Comparison: the same arrivals under several configurations, and what the difference is worth."""
