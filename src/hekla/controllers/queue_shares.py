"""Shares in the tree of queues: what a queue is promised must fit into what its parent has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

from hekla.controllers.problems import Problem, readable
from hekla.controllers.queue_tree import ROOT, Queues, ancestors_of, children_of, parent_of
from hekla.controllers.usage import Amounts, plus
from hekla.objects import Queue

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
