"""Virtual GPUs: cards cut into slots, each pod with a part of a card's memory and cores.

    node   annotation volcano.sh/node-vgpu-register: "<uuid>,<slots>,<MiB>,<type>,<health>,<mode>:..."
    pod    limits volcano.sh/vgpu-number, -memory (MiB), -memory-percentage, -cores, by container
    pod    annotation volcano.sh/vgpu-ids-new: "<uuid>,<type>,<MiB>,<cores>:...;..."   what it holds
    pod    annotations nvidia.com/use-gputype, nvidia.com/nouse-gputype, volcano.sh/vgpu-use-gpuuuid,
           volcano.sh/vgpu-nouse-gpuuuid, volcano.sh/vgpu-mode, volcano.sh/vgpu-podgroup-policy: "spread"

Every card is shared by software ("hami-core"): no geometries of hardware partitions are known here,
and Volcano falls back to software then. As in Volcano, the health of a card is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hekla.engine.model.node import NodeInfo
from hekla.engine.model.task import Task
from hekla.errors import InputError
from hekla.objects.keys import (
    ALTERNATIVE_GROUP_NAME,
    AVOID_GPU_TYPE,
    AVOID_GPU_UUID,
    GROUP_NAME,
    USE_GPU_TYPE,
    USE_GPU_UUID,
    VGPU_CORES,
    VGPU_GROUP_POLICY,
    VGPU_HELD,
    VGPU_MEMORY,
    VGPU_MODE,
    VGPU_NUMBER,
    VGPU_PERCENTAGE,
    VGPU_REGISTER,
)
from hekla.objects.pod import Container
from hekla.objects.quantity import read_count, whole

WISHES = (USE_GPU_TYPE, AVOID_GPU_TYPE, USE_GPU_UUID, AVOID_GPU_UUID, VGPU_MODE, VGPU_GROUP_POLICY)

SOFTWARE_MODE = "hami-core"
SPREAD = "spread"
ALL_CORES = 100


class Slice(NamedTuple):
    """A slot of the card at this place of its node, with memory in MiB and a percentage of its cores."""

    card: int
    memory: int
    cores: int


@dataclass(frozen=True)
class Tenant:
    """What of a pod decides who it may share a card with."""

    uid: str
    group: str = ""
    rules: frozenset[int] = frozenset()


@dataclass
class VirtualCard:
    """One card and its tenants, each with its slices."""

    uuid: str
    slots: int
    memory: int
    type: str
    tenants: dict[Tenant, list[Slice]] = field(default_factory=dict)
    users: int = 0
    used_memory: int = 0
    used_cores: int = 0

    def add(self, tenant: Tenant, part: Slice) -> None:
        self.tenants.setdefault(tenant, []).append(part)
        self._count(part, 1)

    def remove(self, tenant: Tenant, part: Slice) -> None:
        self.tenants[tenant].remove(part)
        if not self.tenants[tenant]:
            del self.tenants[tenant]
        self._count(part, -1)

    def _count(self, part: Slice, sign: int) -> None:
        self.users += sign
        self.used_memory += sign * part.memory
        self.used_cores += sign * part.cores

    @property
    def fullness(self) -> float:
        """Used memory in percent."""
        return 100 * self.used_memory / self.memory if self.memory else 0.0


@dataclass(frozen=True)
class CardDemand:
    """What one container wants: so many cards, and of each so much memory and cores."""

    cards: int
    memory: int
    percentage: int
    cores: int

    def memory_on(self, card: VirtualCard) -> int:
        """Absolute where it is given, else a part of the card."""
        return self.memory or card.memory * self.percentage // 100


@dataclass(frozen=True)
class CardRequest:
    """What a pod wants, container by container, of which cards, and in whose company."""

    tenant: Tenant
    demands: tuple[CardDemand, ...]
    wishes: Mapping[str, str]

    @property
    def key(self) -> Hashable:
        """All but the pod itself, for telling classes of tasks apart."""
        return tuple(self.wishes.items()), self.tenant.group, self.tenant.rules

    @property
    def avoids_its_group(self) -> bool:
        return self.wishes.get(VGPU_GROUP_POLICY) == SPREAD and bool(self.tenant.group)

    def likes(self, card: VirtualCard) -> bool:
        """By type and by uuid."""
        kinds, uuids = (USE_GPU_TYPE, AVOID_GPU_TYPE), (USE_GPU_UUID, AVOID_GPU_UUID)
        return _accepts(self.wishes, *kinds, lambda word: word.upper() in card.type.upper()) and _accepts(
            self.wishes, *uuids, lambda word: word == card.uuid
        )

    def suits(self, card: VirtualCard, demand: CardDemand) -> bool:
        """Whether the card has room for one more slice and the pod may share it."""
        return (
            card.users < card.slots
            and card.memory - card.used_memory >= demand.memory_on(card)
            and card.used_cores + demand.cores <= ALL_CORES
            and not (demand.cores == ALL_CORES and card.users > 0)
            and not (demand.cores == 0 and card.used_cores == ALL_CORES)
            and self.likes(card)
            and not any(self._avoids(other) for other in card.tenants)
        )

    def _avoids(self, other: Tenant) -> bool:
        if other.uid == self.tenant.uid:
            return False
        is_kin = self.avoids_its_group and other.group == self.tenant.group
        return is_kin or bool(self.tenant.rules & other.rules)


def request_of(task: Task, rules: Sequence[Mapping[str, str]]) -> CardRequest | None:
    """What a pod wants of virtual GPUs; None where it wants none."""
    demands = tuple(filter(None, map(demand_of, task.pod.spec.containers)))
    if not demands:
        return None
    notes = task.pod.metadata.annotations
    return CardRequest(tenant_of(task, rules), demands, {key: notes[key] for key in WISHES if key in notes})


def tenant_of(task: Task, rules: Sequence[Mapping[str, str]]) -> Tenant:
    notes, labels = task.pod.metadata.annotations, task.pod.metadata.labels
    group = notes.get(GROUP_NAME) or notes.get(ALTERNATIVE_GROUP_NAME, "")
    matched = (at for at, rule in enumerate(rules) if rule and rule.items() <= labels.items())
    return Tenant(task.uid, f"{task.namespace}/{group}" if group else "", frozenset(matched))


def demand_of(container: Container) -> CardDemand | None:
    """Only a number of cards or memory makes a demand; cores alone do not."""
    limits = container.resources.limits
    if VGPU_NUMBER not in limits and VGPU_MEMORY not in limits:
        return None
    memory, percentage = _amount(container, VGPU_MEMORY), _amount(container, VGPU_PERCENTAGE)
    has_size = memory or _mentions(container, VGPU_PERCENTAGE)
    return CardDemand(
        cards=_amount(container, VGPU_NUMBER) if VGPU_NUMBER in limits else 1,
        memory=memory,
        percentage=percentage if has_size else 100,
        cores=_amount(container, VGPU_CORES),
    )


def cards_of(node: NodeInfo) -> list[VirtualCard]:
    """The cards that a node registers; raises InputError where the annotation cannot be read."""
    text = node.manifest.metadata.annotations.get(VGPU_REGISTER, "")
    if ":" not in text or not all(
        node.allocatable.get(name, 0) > 0 for name in (VGPU_NUMBER, VGPU_MEMORY, VGPU_CORES)
    ):
        return []
    return [_card(part) for part in text.split(":") if "," in part]


def _card(text: str) -> VirtualCard:
    fields = text.split(",")
    if len(fields) < 6:
        expected = "uuid,slots,memory,type,health,mode"
        raise InputError(f'{VGPU_REGISTER}: "{text}" is no card; write it like "{expected}"')
    uuid, slots, memory, kind = fields[:4]
    return VirtualCard(uuid, _number(slots), _number(memory), kind)


def slices_of(task: Task, cards: Sequence[VirtualCard]) -> tuple[Slice, ...]:
    """What a pod on a node says it holds of the node's cards."""
    place_of = {card.uuid: at for at, card in enumerate(cards)}
    parts = task.pod.metadata.annotations.get(VGPU_HELD, "").replace(";", ":").split(":")
    known = (fields for part in parts if len(fields := part.split(",")) == 4 and fields[0] in place_of)
    return tuple(Slice(place_of[uuid], _number(memory), _number(cores)) for uuid, _, memory, cores in known)


def _accepts(wishes: Mapping[str, str], use: str, avoid: str, names: Callable[[str], bool]) -> bool:
    """A list of what to use decides alone; otherwise a list of what to avoid does."""
    if use in wishes:
        return any(map(names, wishes[use].split(",")))
    return avoid not in wishes or not any(map(names, wishes[avoid].split(",")))


def _mentions(container: Container, resource: str) -> bool:
    return resource in container.resources.limits or resource in container.resources.requests


def _amount(container: Container, resource: str) -> int:
    """The limit, else the request; what is no quantity counts as nothing."""
    resources = container.resources
    try:
        return max(0, whole(resources.limits.get(resource, resources.requests.get(resource, 0))))
    except InputError:
        return 0


def _number(text: str) -> int:
    return read_count(text) or 0
