"""The clockwork: one cycle after another, on whatever cluster is handed in."""
