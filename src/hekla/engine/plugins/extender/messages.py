"""Extender messages: tasks, nodes, jobs and queues as JSON, and the answers a service may give.

Names follow Volcano's, so that services written for it find what they look for:

    task    {"UID", "Name", "Namespace", "Job", "TaskRole", "NodeName", "Priority", "Status",
             "Resreq", "InitResreq", "Pod"}
    node    {"Name", "Allocatable", "Capacity", "Idle", "Used", "Releasing", "Pipelined", "Node"}
    job     {"UID", "Name", "Namespace", "Queue", "Priority", "MinAvailable", "PodGroup", "Tasks"}
    queue   {"UID", "Name", "Weight", "Queue"}
    amounts {"MilliCPU": 1000, "Memory": 1024, "ScalarResources": {"pods": 1, "nvidia.com/gpu": 1000}}

"Pod", "Node", "PodGroup" and "Queue" are manifests with the fields that scheduling reads, "Tasks" maps
UIDs to tasks, and "Status" is a word such as "Pending".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hekla.engine.framework.session import Session
from hekla.engine.ledger.arrays import Amounts
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.resources import CPU, MEMORY, PODS, is_whole
from hekla.engine.model.task import Task
from hekla.errors import HeklaError

Document = dict[str, Any]
JSON_HEADERS = {"Content-Type": "application/json"}
Transport = Callable[[str, bytes, float], bytes]
"""Posts a body to a URL within so many seconds and gives back the answer; raises CallFailed."""


class PredicateAnswer(msgspec.Struct):
    """Answer of predicate: an empty text lets the task in. Older services write `errorMessage`."""

    status: str = ""
    error_message: str = msgspec.field(default="", name="errorMessage")
    code: int = 0

    @property
    def message(self) -> str:
        return self.status or self.error_message


class Scored(msgspec.Struct, rename="camel"):
    node_score: dict[str, float] | None = None
    error_message: str = ""


class Victim(msgspec.Struct):
    uid: str = msgspec.field(default="", name="UID")


class Victims(msgspec.Struct):
    """Answer of preemptable and reclaimable: a vote, and tasks of which only the UID is read."""

    status: int = 0
    victims: list[Victim] | None = None


class Voted(msgspec.Struct):
    status: int = 0


class Overused(msgspec.Struct):
    overused: bool = False


class Ready(msgspec.Struct):
    status: bool = False


class Heard(msgspec.Struct, rename="camel"):
    """Answer of the events: a text says why the placement fails."""

    error_message: str = ""


class Nothing(msgspec.Struct):
    """Answer of session open, session close and job enqueued, where nothing is read."""


def task_document(session: Session, task: Task) -> Document:
    request = amounts(session, task.vector)
    return {
        "UID": task.uid,
        "Name": task.name,
        "Namespace": task.namespace,
        "Job": task.job,
        "TaskRole": task.role,
        "NodeName": task.node_name,
        "Priority": task.priority,
        "Status": task.status.name.capitalize(),
        "Resreq": request,
        "InitResreq": request,
        "Pod": task.pod,
    }


def node_document(session: Session, row: int) -> Document:
    nodes = session.nodes
    node = nodes.nodes[row]
    return {
        "Name": node.name,
        "Allocatable": amounts(session, nodes.allocatable[row]),
        "Capacity": named_amounts(node.capacity),
        "Idle": amounts(session, nodes.idle[row]),
        "Used": amounts(session, nodes.used[row]),
        "Releasing": amounts(session, nodes.releasing[row]),
        "Pipelined": amounts(session, nodes.pipelined[row]),
        "Node": node.manifest,
    }


def job_document(session: Session, job: Job) -> Document:
    return {
        "UID": job.uid,
        "Name": job.name,
        "Namespace": job.namespace,
        "Queue": job.queue,
        "Priority": job.priority,
        "MinAvailable": job.minimum,
        "PodGroup": job.pod_group,
        "Tasks": {uid: task_document(session, task) for uid, task in job.tasks.items()},
    }


def queue_document(queue: QueueInfo) -> Document:
    return {"UID": queue.name, "Name": queue.name, "Weight": queue.weight, "Queue": queue.manifest}


def session_document(session: Session) -> Document:
    names = session.nodes.names
    return {
        "Jobs": {uid: job_document(session, job) for uid, job in session.jobs.items()},
        "Nodes": {name: node_document(session, row) for row, name in enumerate(names)},
        "Queues": {name: queue_document(queue) for name, queue in session.queues.items()},
        "NodeList": names,
    }


def amounts(session: Session, vector: Amounts) -> Document:
    return named_amounts(session.axis.resources(vector))


def named_amounts(resources: Mapping[str, int]) -> Document:
    """In Volcano's units: thousandths of everything but memory and pods."""
    scalars = {
        name: amount * 1000 if is_whole(name) and name != PODS else amount
        for name, amount in resources.items()
        if name not in (CPU, MEMORY)
    }
    return {
        "MilliCPU": resources.get(CPU, 0),
        "Memory": resources.get(MEMORY, 0),
        "ScalarResources": scalars,
    }


class CallFailed(HeklaError):
    """The service could not be reached, or did not answer as agreed."""


def post(url: str, body: bytes, timeout: float) -> bytes:
    """Only status 200 is an answer; redirects are not followed."""
    from hekla.exchange import ExchangeFailed, exchange  # noqa: PLC0415 - slow to import, rarely needed

    try:
        return exchange(url, timeout, body=body, headers=JSON_HEADERS)
    except ExchangeFailed as error:
        raise CallFailed(f'"{url}" {error}') from error
