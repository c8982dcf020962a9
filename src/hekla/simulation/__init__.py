"""The cluster: the engine in virtual time, on a workload, and what became of every job."""
