"""Admission of queues: what is filled in, what is refused in the tree that they join, parents first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from msgspec.structs import replace

from hekla.cluster.admission.problems import Problem, is_dns_subdomain, problems_of_amounts, readable
from hekla.controllers import loaded_queue, standing_queues
from hekla.controllers.queue_tree import (
    ROOT,
    Queues,
    ancestors_of,
    children_of,
    has_children,
    height_of,
    parent_of,
)
from hekla.controllers.usage import Amounts, plus
from hekla.objects import Queue, keys
from hekla.objects.complaint import known_ones
from hekla.objects.quantity import exact

MAX_DEPTH = 5
MAX_WEIGHT = 65535
_STATES = ("", "Open", "Closed", "Closing", "Unknown")


def default_queue(queue: Queue) -> Queue:
    """The queue with everything filled in that its user left open."""
    annotations, spec = dict(queue.metadata.annotations), queue.spec
    path, weights = annotations.get(keys.HIERARCHY, ""), annotations.get(keys.HIERARCHY_WEIGHTS, "")
    if path and weights and path.split("/")[0] != ROOT:
        annotations |= {keys.HIERARCHY: f"{ROOT}/{path}", keys.HIERARCHY_WEIGHTS: f"1/{weights}"}
    return replace(
        queue,
        metadata=replace(queue.metadata, annotations=annotations),
        spec=replace(
            spec,
            weight=spec.weight or 1,
            reclaimable=True if spec.reclaimable is None else spec.reclaimable,
        ),
    )


def problems_of_queue(queue: Queue, queues: Queues, before: Queue | None = None) -> list[Problem]:
    """Why a queue must be refused; `before` is what it was, if it is changed and not new."""
    others = {name: other for name, other in queues.items() if name != queue.metadata.name}
    problems = [*_problems_alone(queue), *_problems_of_hierarchy(queue, others)]
    if queue.metadata.name == ROOT:
        return problems + list(_problems_of_root(queue, before))
    if before is None or before.spec.parent != queue.spec.parent:
        problems += _problem_of_parent(queue, others)
    if not problems and (before is None or _shares_changed(before, queue)):
        problems += problems_of_shares(queue, others)
    return problems


def _problems_alone(queue: Queue) -> Iterator[Problem]:
    spec = queue.spec
    if not is_dns_subdomain(queue.metadata.name):
        yield Problem("metadata.name", f'"{queue.metadata.name}" is no name for a queue')
    yield from problems_of_amounts("spec.capability", spec.capability)
    yield from problems_of_amounts("spec.deserved", spec.deserved)
    yield from problems_of_amounts("spec.guarantee.resource", spec.guarantee.resource)
    capability, deserved = readable(spec.capability), readable(spec.deserved)
    for name, amount in readable(spec.guarantee.resource).items():
        if name not in deserved or deserved[name] < amount:
            said = spec.deserved.get(name, "nothing")
            yield Problem(f"spec.deserved[{name}]", f'"{said}" is below the guarantee "{amount}"')
    for name, amount in deserved.items():
        if name in capability and amount > capability[name]:
            message = f'"{spec.deserved[name]}" is above the capability "{spec.capability[name]}"'
            yield Problem(f"spec.deserved[{name}]", message)
    if not 1 <= spec.weight <= MAX_WEIGHT:
        yield Problem("spec.weight", f'"{spec.weight}" is not between 1 and "{MAX_WEIGHT}"')
    if queue.status.state not in _STATES:
        yield Problem("status.state", f'no state "{queue.status.state}"')


def _problems_of_hierarchy(queue: Queue, others: Queues) -> Iterator[Problem]:
    """The path of hierarchical fair share: one weight per part, and work only at the leaves."""
    annotations = queue.metadata.annotations
    path, weights = annotations.get(keys.HIERARCHY, ""), annotations.get(keys.HIERARCHY_WEIGHTS, "")
    where = f"metadata.annotations[{keys.HIERARCHY}]"
    if not path and not weights:
        return
    if len(path.split("/")) != len(weights.split("/")):
        yield Problem(where, f'"{path}" and its weights "{weights}" have different lengths')
    yield from (
        Problem(where, f'weight "{weight}" is not a number above 0')
        for weight in weights.split("/")
        if not _is_positive(weight)
    )
    for name, other in others.items():
        known = other.metadata.annotations.get(keys.HIERARCHY, "")
        if known.startswith(f"{path}/"):
            yield Problem(where, f'"{path}" lies above the path "{known}" of queue "{name}"')
        elif known and path.startswith(f"{known}/"):
            yield Problem(where, f'"{path}" lies below "{known}", the path of queue "{name}"')


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def _problems_of_root(queue: Queue, before: Queue | None) -> Iterator[Problem]:
    if before is not None and _shares(before) != _shares(queue):
        yield Problem("spec", f'capability, deserved and guarantee of "{ROOT}" cannot be changed')


def _shares(queue: Queue) -> tuple[dict[str, Decimal], ...]:
    spec = queue.spec
    return readable(spec.capability), readable(spec.deserved), readable(spec.guarantee.resource)


def _shares_changed(before: Queue, after: Queue) -> bool:
    return before.spec.parent != after.spec.parent or _shares(before) != _shares(after)


def _problem_of_parent(queue: Queue, others: Queues) -> list[Problem]:
    """The first thing that keeps the queue from standing where it wants to."""
    name, above = queue.metadata.name, parent_of(queue)
    if above == ROOT:
        message = _complaint_about_depth(queue, others)
    elif above == name:
        message = f'queue "{name}" cannot be its own parent'
    elif above not in others:
        message = f'no queue "{above}"{known_ones(above, others, "queues")}'
    elif _stands_above(queue, others):
        message = f'queue "{above}" lies below "{name}"; queues cannot form a circle'
    elif not has_children(above, others) and has_allocated_pods(others[above]):
        message = f'queue "{above}" has pods of its own; drain it first'
    else:
        message = _complaint_about_depth(queue, others)
    return [Problem("spec.parent", message)] if message else []


def _stands_above(queue: Queue, others: Queues) -> bool:
    """Whether walking up from the new parent leads back to the queue."""
    tree = {**others, queue.metadata.name: queue}
    return any(parent_of(above) == queue.metadata.name for above in ancestors_of(queue, tree))


def _complaint_about_depth(queue: Queue, others: Queues) -> str:
    above = sum(1 for _ in ancestors_of(queue, others))
    depth = above + 1 + height_of(queue.metadata.name, others)
    if depth <= MAX_DEPTH:
        return ""
    return f'the tree would be "{depth}" levels deep; "{MAX_DEPTH}" below "{ROOT}" are the limit'


def has_allocated_pods(queue: Queue) -> bool:
    return exact(queue.status.allocated.get("pods", 0)) > 0


def problems_of_queue_deletion(
    name: str, queues: Queues, *, check_allocated_pods: bool = False
) -> list[Problem]:
    """Why the queue must stay."""
    if name in (ROOT, "default"):
        return [Problem("metadata.name", f'queue "{name}" cannot be deleted')]
    if below := children_of(name, queues):
        names = ", ".join(f'"{child.metadata.name}"' for child in below)
        return [Problem("metadata.name", f'queue "{name}" has queues below it: {names}')]
    if check_allocated_pods and name in queues and has_allocated_pods(queues[name]):
        return [Problem("metadata.name", f'queue "{name}" still has pods')]
    return []


Share = Callable[[Queue], Amounts]


def guarantee_of(queue: Queue) -> Amounts:
    return readable(queue.spec.guarantee.resource)


def deserved_of(queue: Queue) -> Amounts:
    return readable(queue.spec.deserved)


def capability_of(queue: Queue) -> Amounts:
    return readable(queue.spec.capability)


SHARES: tuple[tuple[str, Share], ...] = (("guarantee.resource", guarantee_of), ("deserved", deserved_of))


def problems_of_shares(queue: Queue, others: Queues) -> list[Problem]:
    """What does not fit between the queue, those above and those below."""
    tree = {**others, queue.metadata.name: queue}
    return [
        *_above_ancestor(queue, tree),
        *_more_than_parent_has(queue, tree),
        *_less_than_children_need(queue, tree),
    ]


def _above_ancestor(queue: Queue, tree: Queues) -> Iterator[Problem]:
    for name, amount in capability_of(queue).items():
        for above in ancestors_of(queue, tree):
            limit = capability_of(above).get(name)
            if limit is None:
                continue
            if amount > limit:
                message = f'"{amount}" exceeds "{limit}", the capability of queue "{above.metadata.name}"'
                yield Problem(f"spec.capability[{name}]", message)
            break


def _more_than_parent_has(queue: Queue, tree: Queues) -> Iterator[Problem]:
    parent = tree.get(parent_of(queue))
    if parent is None or parent.metadata.name == ROOT:
        return
    for word, share in SHARES:
        has = share(parent)
        for name, amount in _sum(share, children_of(parent.metadata.name, tree)).items():
            if amount > has.get(name, Decimal(0)):
                message = (
                    f'all queues below "{parent.metadata.name}" together have "{amount}",'
                    f' more than its own "{has.get(name, 0)}"'
                )
                yield Problem(f"spec.{word}[{name}]", message)


def _less_than_children_need(queue: Queue, tree: Queues) -> Iterator[Problem]:
    children = children_of(queue.metadata.name, tree)
    own = capability_of(queue)
    for child in children:
        for name, amount in _largest_capability(child, tree).items():
            if name in own and own[name] < amount:
                message = f'"{own[name]}" is below "{amount}", set in or below queue "{child.metadata.name}"'
                yield Problem(f"spec.capability[{name}]", message)
    for word, share in SHARES:
        has = share(queue)
        for name, amount in _sum(share, children).items():
            if amount > has.get(name, Decimal(0)):
                message = f'"{has.get(name, 0)}" is below "{amount}", the sum of the queues below'
                yield Problem(f"spec.{word}[{name}]", message)


def _sum(share: Share, queues: list[Queue]) -> Amounts:
    total: Amounts = {}
    for queue in queues:
        total = plus(total, share(queue))
    return total


def _largest_capability(queue: Queue, tree: Queues) -> Amounts:
    """The capability of a subtree: what its top sets, else the largest that is set further down."""
    below: Amounts = {}
    for child in children_of(queue.metadata.name, tree):
        for name, amount in _largest_capability(child, tree).items():
            below[name] = max(below.get(name, amount), amount)
    return below | capability_of(queue)


@dataclass
class Admitted:
    """The queues that may come in, parents first, and those that may not, with the reason."""

    queues: list[Queue] = field(default_factory=list)
    refusals: list[tuple[Queue, str]] = field(default_factory=list)


def admitted_queues(given: Sequence[Queue], known: Mapping[str, Queue], *, is_strict: bool) -> Admitted:
    """The queues that join the known ones; root and the default queue are always there."""
    names = {queue.metadata.name for queue in given}
    waiting = [*standing_queues({*names, *known}), *map(_at_load, given)]
    result, tree = Admitted(), dict(known)
    if not is_strict:
        result.queues = waiting
        return result
    while ready := [queue for queue in waiting if _has_parent(queue, tree)]:
        for queue in ready:
            if problems := problems_of_queue(queue, tree):
                result.refusals += [(queue, f"left out: {problem}") for problem in problems]
            else:
                tree[queue.metadata.name] = queue
                result.queues.append(queue)
        waiting = [queue for queue in waiting if queue not in ready]
    result.refusals += [(queue, f"left out: {_why_rootless(queue, waiting, tree)}") for queue in waiting]
    return result


def _at_load(queue: Queue) -> Queue:
    """The queue with its defaults; what it had allocated elsewhere counts for nothing here."""
    queue = loaded_queue(default_queue(queue))
    return replace(queue, status=replace(queue.status, allocated={}))


def _has_parent(queue: Queue, tree: Mapping[str, Queue]) -> bool:
    return queue.metadata.name == ROOT or parent_of(queue) in tree


def _why_rootless(queue: Queue, waiting: Sequence[Queue], tree: Mapping[str, Queue]) -> str:
    """Why no way leads from the queue to root: a circle, a missing parent, or one that was refused."""
    together = {**tree, **{other.metadata.name: other for other in waiting}}
    problems = [each for each in problems_of_queue(queue, together) if each.path == "spec.parent"]
    if problems:
        return str(problems[0])
    return f'spec.parent: no way leads from "{parent_of(queue)}" to "{ROOT}"'
