"""Standing alone: Volcano's controllers on a real cluster, the same ones as in the embedded cluster.

view           the facts, with everything laid over them that was sent and is not seen yet
admission      what admission would fill in or refuse, when an object is read
executor       commands become writes: pods, PodGroups, claims, states of queues
job_writes     the writes of a Job, then its status; what fails is undone, told and tried again
job_templates  the pods of a Job as they are sent: its whole template, and what the Job adds
job_plugins    what the plugins of a Job add to its pods
job_services   the objects that plugins need beside the pods
plain_pods     PodGroups for pods that bring none
standalone     kind Command; and all of this, for as long as this process leads
"""

from __future__ import annotations

from hekla.cluster.kubernetes.controllers.standalone import ALSO_WATCHED, Controllers

__all__ = ["ALSO_WATCHED", "Controllers"]
