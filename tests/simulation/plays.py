"""Small workloads for the cluster, in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hekla.conf import BUILT_IN_DEFAULT, Conf, read_conf
from hekla.objects import Manifest, Node, ObjectMeta
from hekla.objects.batch import PodTemplate
from hekla.objects.node import NodeStatus
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.simulation.options import SimulationOptions
from hekla.simulation.run import Run
from hekla.simulation.simulate import simulate
from hekla.simulation.workloads import Fault, Hazards, Role, Submission, Workload

PLAIN = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: predicates
"""


def conf_of(text: str = BUILT_IN_DEFAULT) -> Conf:
    return read_conf(text)[0]


def node(name: str, cpu: int = 4) -> Node:
    resources = {"cpu": cpu, "memory": "64Gi", "pods": 110}
    return Node(metadata=ObjectMeta(name=name), status=NodeStatus(allocatable=resources))


@cache
def role(pods: int, cpu: int, name: str = "w") -> Role:
    container = Container(name="c", resources=ResourceRequirements(requests={"cpu": cpu}))
    return Role(name, pods, PodTemplate(spec=PodSpec(containers=(container,))))


def job(name: str, at: float, lasts: float, pods: int = 1, cpu: int = 1, **more: object) -> Submission:
    return Submission(name, at, lasts, (role(pods, cpu),), **more)  # type: ignore[arg-type]


def play(
    jobs: Sequence[Submission],
    nodes: Sequence[Node] = (),
    *,
    conf: str = BUILT_IN_DEFAULT,
    objects: Sequence[Manifest] = (),
    faults: Sequence[Fault] = (),
    hazards: Hazards | None = None,
    seed: int = 0,
    **options: float,
) -> Run:
    workload = Workload(
        "play",
        lambda: iter(jobs),
        objects=tuple(objects),
        faults=tuple(faults),
        hazards=hazards or Hazards(),
        count=len(jobs),
    )
    return simulate(
        workload, conf_of(conf), nodes=nodes or [node("n1")], seed=seed, options=SimulationOptions(**options)
    )


def times(run: Run) -> dict[str, tuple[float, float]]:
    """By job, when it started and when it finished."""
    names = [name.removeprefix("default/") for name in run.jobs.names]
    return dict(
        zip(names, zip(run.jobs.started.tolist(), run.jobs.finished.tolist(), strict=True), strict=True)
    )
