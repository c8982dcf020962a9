"""The cluster as the scheduler knows it: kept up to date change by change, lent to one session at a time."""
