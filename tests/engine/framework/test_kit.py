"""The kit: our own plugins pass it, and every way to break the contract is caught and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import (
    ALLOCATABLE,
    HEADROOM,
    JOB_ENQUEUEABLE,
    JOB_ORDER,
    JOB_READY,
    NODE_ORDER,
    NODE_ORDER_REDUCE,
    OVERUSED,
    PREDICATE,
    PREEMPTABLE,
    QUEUE_ORDER,
    Point,
    Scope,
    answers,
    as_key,
)
from hekla.engine.framework.rules import every
from hekla.engine.ledger.arrays import Floats, Mask, Rows
from hekla.engine.ledger.states import NodeStates
from hekla.engine.model.diagnosis import Refusal
from hekla.engine.model.job import Job
from hekla.engine.model.queue import QueueInfo
from hekla.engine.model.task import Task
from hekla.engine.plugins import BUILTIN_PLUGINS
from hekla.testing import check_plugin


@pytest.mark.parametrize("plugin", BUILTIN_PLUGINS.values(), ids=BUILTIN_PLUGINS.keys())
def test_every_built_in_plugin_keeps_its_contract(plugin: type[Plugin]) -> None:
    check_plugin(plugin)


def test_drf_keeps_its_contract_in_hierarchical_mode_too() -> None:
    check_plugin(BUILTIN_PLUGINS["drf"], hierarchical=True)


def test_arguments_are_handed_on() -> None:
    check_plugin(BUILTIN_PLUGINS["binpack"], {"binpack.weight": 3, "binpack.resources": "nvidia.com/gpu"})


class Sound(Plugin):
    """Scores by a node's name: enough of a plugin to break in many ways."""

    name = "sound"

    def count(self) -> int:
        return len(self.session.nodes)

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        return np.array([float(len(name)) for name in self.session.nodes.names])


class Reducing(Sound):
    name = "reducing"

    @answers(NODE_ORDER_REDUCE)
    def rescale(self, task: Task, scores: Floats, among: Mask) -> Floats:
        return 100 * scores / scores[among].max()


@pytest.mark.parametrize("plugin", [Sound, Reducing])
def test_a_sound_plugin_passes(plugin: type[Plugin]) -> None:
    check_plugin(plugin)


class Nameless(Plugin):
    pass


class Shouting(Sound):
    name = "My Plugin"


class Mute(Plugin):
    name = "mute"


class OffTheTable(Plugin):
    name = "off-the-table"

    @answers(Point("mood", "Is it happy?", "all", every))
    def is_happy(self, job: Job) -> bool:
        return True


class ScopedJobOrder(Plugin):
    name = "scoped-job-order"

    @answers(JOB_ORDER, Scope.CLASS)
    def first(self, job: Job) -> int:
        return 0


class Thawed(Sound):
    name = "thawed"

    @dataclass
    class Arguments:
        weight: int = argument(1, key="thawed.weight", help="how much it counts")


class Keyless(Sound):
    name = "keyless"

    @dataclass(frozen=True)
    class Arguments:
        weight: int = 1


class TooShort(Sound):
    name = "too-short"

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        return np.zeros(max(0, self.count() - 1))


class WholeNumbers(Sound):
    name = "whole-numbers"

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        return np.ones(self.count(), dtype=np.int64)


class NotANumber(Sound):
    name = "not-a-number"

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        return np.full(self.count(), np.nan)


class Listing(Sound):
    name = "listing"

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        return [0.0] * self.count()


class Silent(Plugin):
    name = "silent"

    @answers(PREDICATE)
    def refuse(self, task: Task) -> list[Refusal]:
        return [Refusal("", np.ones(len(self.session.nodes), dtype=np.bool_))]


class RowNumbers(Plugin):
    name = "row-numbers"

    @answers(PREDICATE)
    def refuse(self, task: Task) -> list[Refusal]:
        return [Refusal("no", np.arange(len(self.session.nodes)))]


class YesWoman(Plugin):
    name = "yes-woman"

    @answers(JOB_ENQUEUEABLE)
    def admit(self, job: Job) -> bool:
        return True


class Maybe(Plugin):
    name = "maybe"

    @answers(JOB_READY)
    def is_ready(self, job: Job) -> int:
        return 1


class OutOfThinAir(Plugin):
    name = "out-of-thin-air"

    @answers(PREEMPTABLE)
    def victims(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return [preemptor]


class Tampering(Sound):
    name = "tampering"

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        self.session.nodes.idle[:] += 1
        return np.zeros(self.count())


class Greedy(Sound):
    name = "greedy"

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        task.vector[0] += 1
        return np.zeros(self.count())


class Fickle(Sound):
    name = "fickle"
    asked = 0

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        self.asked += 1
        return np.full(self.count(), float(self.asked))


class Gambling(Plugin):
    name = "gambling"
    tickets = count()

    def on_open(self) -> None:
        self.luck = next(self.tickets)

    @answers(JOB_ORDER)
    def lucky_first(self, job: Job) -> float:
        return self.luck


class Ranking(Sound):
    name = "ranking"

    @answers(NODE_ORDER, Scope.ROW)
    def score(self, task: Task, rows: Rows) -> Floats:
        return np.arange(len(np.arange(self.count())[rows]), dtype=np.float64)


class RowNumberLover(Sound):
    name = "row-number-lover"

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        return np.arange(self.count(), dtype=np.float64)


class Frozen(Sound):
    name = "frozen"

    @answers(NODE_ORDER, Scope.CLASS)
    def score(self, task: Task) -> Floats:
        return self.session.nodes.used[:, 0].astype(np.float64)


class Forgetful(Plugin):
    """Counts what comes and forgets what goes."""

    name = "forgetful"

    def on_open(self) -> None:
        self.placed = 0

    def on_allocate(self, task: Task) -> None:
        self.placed += 1

    @answers(OVERUSED)
    def has_had_enough(self, queue: QueueInfo) -> bool:
        return self.placed > 0


class ShortSighted(Sound):
    """Reads the ledger itself, not the states it is shown."""

    name = "short-sighted"

    @answers(NODE_ORDER, Scope.LEDGER)
    def score(self, task: Task, states: NodeStates) -> Floats:
        return self.session.nodes.used[states.rows, 0].astype(np.float64)


class Boasting(Plugin):
    name = "boasting"

    @answers(ALLOCATABLE)
    def takes_nothing(self, queue: QueueInfo, task: Task) -> bool:
        return False

    @answers(HEADROOM)
    def takes_everything(self, queue: QueueInfo, task: Task, count: int) -> int:
        return count


class Miscounting(Forgetful):
    """Counts a run of tasks as one."""

    name = "miscounting"

    def on_release(self, task: Task) -> None:
        self.placed -= 1

    def on_allocate_all(self, tasks: Sequence[Task]) -> None:
        self.placed += 1

    @answers(JOB_ORDER)
    def by_number(self, job: Job) -> int:
        return self.placed


class Wavering(Sound):
    """Says that most tasks are no concern of its, and scores for them all the same."""

    name = "wavering"

    @answers(NODE_ORDER, concerns=lambda _plugin, task: task.priority > 100)
    def score(self, task: Task, among: Mask) -> Floats:
        return np.ones(self.count())


class Unconcerned(Plugin):
    """The same of refusals."""

    name = "unconcerned"

    @answers(PREDICATE, Scope.CLASS, concerns=lambda _plugin, task: task.priority > 100)
    def refuse(self, task: Task) -> list[Refusal]:
        return [Refusal("no", np.ones(len(self.session.nodes), dtype=np.bool_))]


class Surprised(Plugin):
    """Finds tasks of its concern once some are placed."""

    name = "surprised"

    @answers(PREDICATE, concerns=lambda self, _task: self.session.nodes.has_promises)
    def refuse(self, task: Task) -> list[Refusal]:
        return [Refusal("no", self.session.nodes.pipelined.any(axis=1))]


class ReducingNothing(Plugin):
    name = "reducing-nothing"

    @answers(NODE_ORDER_REDUCE)
    def rescale(self, task: Task, scores: Floats, among: Mask) -> Floats:
        return scores


class ReducingInPlace(Reducing):
    """Does as one does in Go."""

    name = "reducing-in-place"

    @answers(NODE_ORDER_REDUCE)
    def rescale(self, task: Task, scores: Floats, among: Mask) -> Floats:
        scores /= 2
        return scores


class ReducingToCandidates(Reducing):
    name = "reducing-to-candidates"

    @answers(NODE_ORDER_REDUCE)
    def rescale(self, task: Task, scores: Floats, among: Mask) -> Floats:
        return scores[among]


class ReducingToNone(Reducing):
    name = "reducing-to-none"

    @answers(NODE_ORDER_REDUCE)
    def rescale(self, task: Task, scores: Floats, among: Mask) -> None:
        return None


class ReducingByRange(Reducing):
    """Divides by zero where all candidates are alike."""

    name = "reducing-by-range"

    @answers(NODE_ORDER_REDUCE)
    def rescale(self, task: Task, scores: Floats, among: Mask) -> Floats:
        with np.errstate(all="ignore"):
            return scores / (scores[among].max() - scores[among].min())


class ReducingByRow(Reducing):
    name = "reducing-by-row"

    @answers(NODE_ORDER_REDUCE)
    def rescale(self, task: Task, scores: Floats, among: Mask) -> Floats:
        return scores - scores[0] + np.arange(self.count())


class Blinding(Sound):
    """Crosses out candidates that it does not like."""

    name = "blinding"

    @answers(NODE_ORDER)
    def score(self, task: Task, among: Mask) -> Floats:
        among[:] = False
        return np.zeros(self.count())


class Backward(Plugin):
    name = "backward"

    @answers(QUEUE_ORDER)
    def by_weight(self, left: QueueInfo, right: QueueInfo) -> float:
        return right.weight - left.weight

    @as_key(by_weight)
    def weight(self, queue: QueueInfo) -> int:
        return queue.weight


class Envious(Plugin):
    """Its keys of queues move with what others are given."""

    name = "envious"

    def on_open(self) -> None:
        self.placed = 0

    def on_allocate(self, task: Task) -> None:
        self.placed += 1

    def on_release(self, task: Task) -> None:
        self.placed -= 1

    @answers(QUEUE_ORDER)
    def by_weight(self, left: QueueInfo, right: QueueInfo) -> float:
        return left.weight - right.weight

    @as_key(by_weight)
    def weight(self, queue: QueueInfo) -> int:
        return queue.weight + self.placed


@pytest.mark.parametrize(
    ("plugin", "complaint"),
    [
        (Nameless, "has no name"),
        (Shouting, "must be lower case"),
        (Mute, "answers nothing"),
        (OffTheTable, "not in the table of extension points"),
        (ScopedJobOrder, "takes no scope"),
        (Thawed, "must be frozen"),
        (Keyless, "declares no key"),
        (TooShort, "expected one score per node"),
        (WholeNumbers, "expected dtype float64"),
        (NotANumber, "must be finite"),
        (Listing, "expected one float per node"),
        (Silent, "must give its reason"),
        (RowNumbers, "array of bool"),
        (YesWoman, "expected a Vote"),
        (Maybe, "expected True or False"),
        (OutOfThinAir, "must be among the candidates"),
        (Tampering, "changed the ledgers"),
        (Greedy, "changed the tasks' requests"),
        (Fickle, "answered differently the second time"),
        (Gambling, "a fresh session over the same cluster got another answer"),
        (Ranking, "its answer for all nodes has"),
        (RowNumberLover, "shuffling the nodes must shuffle the answer"),
        (Frozen, "its scope cannot be CLASS"),
        (Forgetful, "after on_allocate and on_release"),
        (ShortSighted, "it foresees"),
        (Boasting, "but the queue takes 0"),
        (Miscounting, "after on_allocate_all"),
        (Wavering, "it does not concern such tasks, but"),
        (Unconcerned, "it does not concern such tasks, but"),
        (Surprised, "it does not concern such tasks, but"),
        (ReducingNothing, "there is nothing to normalise"),
        (ReducingInPlace, "changed an array that it was given"),
        (ReducingToCandidates, "expected one score per node"),
        (ReducingToNone, "expected the normalised scores"),
        (ReducingByRange, "must be finite"),
        (ReducingByRow, "shuffling the nodes must shuffle the answer"),
        (Blinding, "changed an array that it was given"),
        (Backward, "compare as"),
        (Envious, "moves when a task of queue"),
    ],
    ids=lambda part: part.__name__ if isinstance(part, type) else "",
)
def test_a_broken_plugin_is_caught(plugin: type[Plugin], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_plugin(plugin)


def test_a_mistyped_argument_is_told() -> None:
    with pytest.raises(AssertionError, match="no argument"):
        check_plugin(BUILTIN_PLUGINS["binpack"], {"binpack.wieght": 1})
