"""Measures: what a run's columns say about waiting, use, fairness and lost work."""
