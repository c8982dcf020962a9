"""Jobs in a few words: `{name: train, arrival: 10m, duration: 1h, pods: 4, gpu: 8}`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from hekla.cluster.admission.problems import is_dns_subdomain
from hekla.errors import InputError
from hekla.objects import Toleration
from hekla.objects.batch import PodTemplate
from hekla.objects.complaint import quoted, spoken
from hekla.objects.meta import ResourceList
from hekla.objects.scheduling import NetworkTopology
from hekla.simulation.workloads.fields import Fields, Spot, as_part
from hekla.simulation.workloads.model import Restart, Role, Submission
from hekla.simulation.workloads.shapes import GPU, Choice, Shapes, toleration_of

MOST_PODS = 100_000
"""Pods of one job, as clusters take them in."""
MOST_REPEATS = 10_000_000

_OF_POD = frozenset({"cpu", "memory", "gpu", "requests", "nodeSelector", "tolerations", "template"})
ROLE_KEYS = _OF_POD | {"name", "pods", "minAvailable", "duration"}
OVERRIDES = frozenset(
    {"after", "arrival", "checkpoint", "estimate", "failsAfter", "restart", "think", "user"}
)
"""What may stand beside a whole Job, too."""
JOB_KEYS = ROLE_KEYS | OVERRIDES | {
    "annotations", "count", "every", "labels", "namespace", "priorityClass", "queue", "roles", "topology",
}  # fmt: skip
TOPOLOGY_KEYS = ("mode", "highestTierAllowed", "highestTierName")


class Entry(msgspec.Struct, frozen=True):
    """A job as it stands in a file, once or several times."""

    submission: Submission
    spot: Spot
    count: int = 1
    every: float = 0.0

    def submissions(self) -> Iterator[Submission]:
        """The job, or so many with numbers, one after the other."""
        if self.count == 1:
            yield self.submission
            return
        first = self.submission
        width = len(str(self.count))
        for number in range(self.count):
            name = f"{first.name}-{number + 1:0{width}}"
            yield replace(first, name=name, submitted=first.submitted + number * self.every)


def short_job(data: object, spot: Spot, shapes: Shapes, duration: float | None = None) -> Entry:
    """The job that a map describes; `duration` is for those that say none."""
    fields = Fields(data, spot, JOB_KEYS)
    for key in ("name",) if duration is not None else ("name", "duration"):
        fields.need(key)
    roles = roles_of(fields, shapes)
    pods = sum(role.replicas for role in roles)
    if pods > MOST_PODS:
        raise spot.wrong(f"{pods} pods are too many for one job; at most {MOST_PODS} are taken")
    plain = Submission(
        name=name_of(fields, "name"),
        submitted=0.0,
        run_seconds=fields.seconds("duration", duration or 0.0, may_be_endless=True),
        roles=roles,
        queue=fields.text("queue", "default"),
        namespace=name_of(fields, "namespace", "default"),
        min_available=fields.whole("minAvailable", 0, least=1, most=pods)
        if "minAvailable" in fields
        else None,
        priority_class=fields.text("priorityClass"),
        topology=topology_of(fields),
        annotations=fields.words("annotations"),
        labels=fields.words("labels"),
    )
    return repeated(fields, with_overrides(fields, plain))


def with_overrides(fields: Fields, job: Submission) -> Submission:
    """The job with what is said about how it is played, which no Job of Volcano can say."""
    after = key_of(fields.text("after"), job.namespace)
    if "think" in fields and not after:
        raise fields.wrong("think", 'goes with "after": it is the time after the end of that job')
    return replace(
        job,
        submitted=fields.seconds("arrival", job.submitted),
        run_seconds=fields.seconds("duration", job.run_seconds, may_be_endless=True),
        user=fields.text("user", job.user),
        estimate=fields.span("estimate", job.estimate),
        checkpoint_seconds=checkpoint_of(fields),
        restart=Restart(fields.choice("restart", [each.value for each in Restart], job.restart.value)),
        fails_after=fields.span("failsAfter", job.fails_after),
        after=after,
        think_seconds=fields.seconds("think", 0.0),
    )


def repeated(fields: Fields, submission: Submission) -> Entry:
    count = fields.whole("count", 1, least=1, most=MOST_REPEATS)
    if count > 1:
        fields.need("every")
    return Entry(submission, fields.spot, count, fields.seconds("every", 0.0))


def name_of(fields: Fields, key: str, default: str = "") -> str:
    name = fields.text(key, default)
    if not is_dns_subdomain(name):
        raise fields.wrong(key, f"{quoted(name)} is not a name; use small letters, digits, hyphens and dots")
    return name


def key_of(name: str, namespace: str) -> str:
    """`namespace/name` of a job that is named, in the same namespace unless it says another."""
    return name if not name or "/" in name else f"{namespace}/{name}"


def checkpoint_of(fields: Fields) -> float | None:
    seconds = fields.span("checkpoint")
    if seconds is not None and seconds <= 0:
        raise fields.wrong("checkpoint", "expected a span above 0; leave it out where nothing is saved")
    return seconds


def topology_of(fields: Fields) -> NetworkTopology | None:
    """A number is the highest tier that the job may spread over; a map says it in Volcano's words."""
    value = fields.data.get("topology")
    if value is None:
        return None
    if isinstance(value, int):
        return NetworkTopology(mode="hard", highest_tier_allowed=fields.whole("topology", 0))
    given = fields.map("topology", TOPOLOGY_KEYS)
    given.choice("mode", ("hard", "soft"), "hard")
    return as_part(given.data, NetworkTopology, given.spot)


def roles_of(fields: Fields, shapes: Shapes) -> tuple[Role, ...]:
    """The roles of a job; one that names none has one."""
    if "roles" not in fields:
        count = fields.whole("pods", 1, least=1, most=MOST_PODS)
        return (shapes.role("worker", count, template_of(fields, shapes)),)
    for key in sorted(_OF_POD | {"pods"}):
        if key in fields:
            raise fields.wrong(key, 'goes into the roles where there are "roles"')
    roles = tuple(role_of(Fields(data, spot, ROLE_KEYS), shapes) for spot, data in fields.items("roles"))
    names = [role.name for role in roles]
    if not roles or len(set(names)) < len(names):
        raise fields.wrong("roles", "expected at least one, each with a name of its own")
    return roles


def role_of(fields: Fields, shapes: Shapes) -> Role:
    fields.need("name")
    count = fields.whole("pods", 1, least=1, most=MOST_PODS)
    least = fields.whole("minAvailable", 0, most=count) if "minAvailable" in fields else None
    runs = fields.span("duration", may_be_endless=True)
    return shapes.role(name_of(fields, "name"), count, template_of(fields, shapes), least, runs)


def template_of(fields: Fields, shapes: Shapes) -> PodTemplate:
    if "template" not in fields:
        return shapes.template(tuple(requests_of(fields).items()), choice_of(fields), tolerations_of(fields))
    for key in sorted(_OF_POD - {"template"}):
        if key in fields:
            raise fields.wrong(key, 'goes into the "template" where there is one')
    return shapes.shared(as_part(fields.data["template"], PodTemplate, fields.spot.under("template")))


def requests_of(fields: Fields) -> ResourceList:
    """What a pod asks for: `requests`, and the three that have a key of their own."""
    asked = fields.amounts("requests")
    for key, resource in (("cpu", "cpu"), ("memory", "memory"), ("gpu", GPU)):
        if key not in fields:
            continue
        if resource in asked:
            raise fields.wrong(key, f'is in "requests" as well, as "{resource}"; keep one')
        asked[resource] = fields.amount(key)
    return asked


def choice_of(fields: Fields) -> Choice:
    """The labels that nodes must have; a list of values means one of them."""
    given = fields.map("nodeSelector")
    choice = []
    for label, value in given.data.items():
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(each, str) for each in values):
            raise given.wrong(label, f"expected a text or a list of texts, got {spoken(value)}")
        choice.append((label, tuple(values)))
    return tuple(choice)


def tolerations_of(fields: Fields) -> tuple[Toleration, ...]:
    found = []
    for spot, data in fields.items("tolerations"):
        if isinstance(data, str):
            try:
                found.append(toleration_of(data))
            except InputError as error:
                raise spot.wrong(str(error)) from error
        else:
            found.append(as_part(data, Toleration, spot))
    return tuple(found)
