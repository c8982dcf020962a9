"""Causes: what binds every job that waits, from moment to moment, while a simulation runs.

observer       follows which jobs wait, and asks at each cycle what binds them
admission      which plugin keeps jobs out
placement      what keeps admitted jobs off the nodes
groups         jobs that wait for the same, a row each in arrays
log            what was found, row by row
"""

from hekla.simulation.causes.observer import WaitObserver

__all__ = ["WaitObserver"]
