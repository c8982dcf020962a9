"""Clusters: they deliver facts and carry out decisions."""
