"""Queue: a tenant's share of the cluster."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from hekla.engine.model.resources import Resources, read_limits, read_resources
from hekla.objects import scheduling as manifest
from hekla.objects import seconds

ROOT = "root"
DEFAULT_QUEUE = "default"


@dataclass(eq=False, slots=True)
class QueueInfo:
    """What the manifest says, in canonical units."""

    name: str
    weight: int
    is_open: bool
    is_reclaimable: bool
    created: float
    priority: int = 0
    parent: str = ""
    capability: Resources = field(default_factory=dict)
    deserved: Resources = field(default_factory=dict)
    guarantee: Resources = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    manifest: manifest.Queue | None = None

    def __repr__(self) -> str:
        return f"Queue({self.name})"

    def says_the_same_as(self, other: QueueInfo | None) -> bool:
        """Nothing but what is told of its jobs may differ."""
        return other is not None and asdict(replace(self, manifest=None)) == asdict(
            replace(other, manifest=None)
        )


def queue_of(source: manifest.Queue) -> QueueInfo:
    """The queue that a manifest comes to; a state that is not written yet means Open."""
    spec = source.spec
    return QueueInfo(
        name=source.metadata.name,
        weight=spec.weight,
        is_open=source.status.state in ("", "Open"),
        is_reclaimable=spec.reclaimable is not False,
        created=seconds(source.metadata.creation_timestamp),
        priority=spec.priority,
        parent=spec.parent,
        capability=read_limits(spec.capability),
        deserved=read_limits(spec.deserved),
        guarantee=read_resources(spec.guarantee.resource),
        annotations=source.metadata.annotations,
        manifest=source,
    )
