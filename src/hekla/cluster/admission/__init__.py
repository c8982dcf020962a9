"""Admission: what becomes of an object as it enters a cluster, and what is refused.

jobs, queues     defaults, and whether they may come in or be changed
pods             of pods, PodGroups and HyperNodes the same; priorities of pods
problems         why something is refused

The embedded cluster, the controllers' gatekeeper on a real cluster, simulations, plans, forecasts and
workloads admit with the same functions. What a Job then comes to, its PodGroup and its pods, is a reaction
of its controller, and is found in `hekla.controllers.expand`.
"""

from hekla.cluster.admission.jobs import (
    default_job,
    problem_of_jobs_queue,
    problems_of_job,
    problems_of_job_update,
)
from hekla.cluster.admission.pods import (
    ResourceGroup,
    admitted_group,
    admitted_pod,
    default_pod,
    default_pod_group,
    made_up_uid,
    problems_of_hyper_node,
    problems_of_pod,
    problems_of_pod_group,
    warnings_of_hyper_node,
    with_priority,
)
from hekla.cluster.admission.problems import Problem, warnings_of_job
from hekla.cluster.admission.queues import (
    admitted_queues,
    default_queue,
    problems_of_queue,
    problems_of_queue_deletion,
)

__all__ = [
    "Problem",
    "ResourceGroup",
    "admitted_group",
    "admitted_pod",
    "admitted_queues",
    "default_job",
    "default_pod",
    "default_pod_group",
    "default_queue",
    "made_up_uid",
    "problem_of_jobs_queue",
    "problems_of_hyper_node",
    "problems_of_job",
    "problems_of_job_update",
    "problems_of_pod",
    "problems_of_pod_group",
    "problems_of_queue",
    "problems_of_queue_deletion",
    "warnings_of_hyper_node",
    "warnings_of_job",
    "with_priority",
]
