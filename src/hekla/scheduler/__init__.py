"""The scheduler's loop: one cycle after another, on any cluster."""
