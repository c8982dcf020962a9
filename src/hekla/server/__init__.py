"""The scheduler as a process: cycles on a real cluster, one leader, endpoints for its operators."""
