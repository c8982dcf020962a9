"""Host ports: two pods cannot listen on the same port of a node's address."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from hekla.engine.ledger.arrays import Counts
from hekla.engine.ledger.pods import PodLedger
from hekla.engine.model.task import Task

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing listens here; it is how pods ask for every address


@dataclass(frozen=True)
class HostPort:
    address: str
    protocol: str
    port: int

    def clashes_with(self, other: HostPort) -> bool:
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


def host_ports(task: Task) -> list[HostPort]:
    """The ports a task needs for itself; init containers count only if they keep running."""
    spec = task.pod.spec
    sidecars = (container for container in spec.init_containers if container.restart_policy == "Always")
    return [
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in chain(spec.containers, sidecars)
        for port in container.ports
        if port.host_port > 0
    ]


def clashes(wanted: HostPort, pods: PodLedger) -> Counts:
    """How many pods of each node hold a port that clashes with the wanted one, live."""
    return pods.counter(wanted, lambda task: sum(wanted.clashes_with(held) for held in host_ports(task)))
