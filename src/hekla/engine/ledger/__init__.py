"""The pantry: cluster state as arrays, one row per node, one column per resource."""
