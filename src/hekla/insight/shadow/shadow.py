"""Shadow: lanes that hear of every change, and a judge for each of them.

Changes are taken in order. Before a deed is judged, every lane has seen the cluster as it was just then:
where there was news since the latest cycle, another one is run first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hekla.insight.shadow.feed import Change, Deed, Feed
from hekla.insight.shadow.judge import Judge, Patience
from hekla.insight.shadow.lane import Lane
from hekla.insight.shadow.tally import Tally
from hekla.insight.shadow.verdict import Verdict
from hekla.objects import Pod

MOST_KEPT = 10_000


@dataclass(frozen=True)
class ShadowOptions:
    """How closely the other scheduler is followed."""

    patience: Patience = field(default_factory=Patience)
    cycles_per_step: int = 20
    """How many cycles are run to catch up; in a flood of news, later deeds are judged by earlier facts."""


class Shadow:
    """Everything but the server; `step` takes in whatever has happened."""

    def __init__(self, feed: Feed, lanes: Sequence[Lane], options: ShadowOptions | None = None) -> None:
        self.options = options or ShadowOptions()
        self.judges = [Judge(lane, self.options.patience) for lane in lanes]
        self.tallies = {lane.name: Tally(lane.name) for lane in lanes}
        self.differences: list[Verdict] = []
        self.left_out = 0
        """Differences that were told and counted, and are too many to be kept."""
        self.changed_by_candidate = 0
        """Deeds that the lanes do not all agree on."""
        self._feed = feed
        self._has_news = True

    def step(self) -> list[Verdict]:
        """Take in all changes and look at the cluster anew; the differences that come to light."""
        verdicts: list[Verdict] = []
        cycles_left = self.options.cycles_per_step
        while (change := self._feed.next()) is not None:
            if change.deed is not None:
                if self._has_news and cycles_left > 0:
                    cycles_left -= 1
                    verdicts += self._predict()
                judged = self._judge(change.deed)
                verdicts += judged
                # What it does next follows from what it did, not from what we would have done.
                self._has_news = any(verdict.kind.is_difference for verdict in judged)
            self._take(change)
        verdicts += self._predict()
        return self._noted(verdicts)

    def _take(self, change: Change) -> None:
        self._has_news |= change.is_news
        for judge in self.judges:
            judge.lane.take(change)
            if isinstance(change.manifest, Pod) and (change.deed is not None or not change.is_there):
                judge.forget(change.manifest)

    def _predict(self) -> list[Verdict]:
        self._has_news = False
        return [verdict for judge in self.judges for verdict in judge.predict()]

    def _judge(self, deed: Deed) -> list[Verdict]:
        verdicts = [judge.judge(deed) for judge in self.judges]
        self.changed_by_candidate += len({verdict.kind.is_difference for verdict in verdicts}) > 1
        return verdicts

    def _noted(self, verdicts: list[Verdict]) -> list[Verdict]:
        differences = [verdict for verdict in verdicts if verdict.kind.is_difference]
        for verdict in verdicts:
            self.tallies[verdict.lane].add(verdict)
        room = MOST_KEPT - len(self.differences)
        self.differences += differences[:room]
        self.left_out += max(0, len(differences) - room)
        return differences

    def summary(self) -> dict[str, object]:
        """All that was found, as plain data."""
        return {
            "configurations": [self._of_lane(judge) for judge in self.judges],
            "disagreements": self.changed_by_candidate,
            "differencesLeftOut": self.left_out,
        }

    def _of_lane(self, judge: Judge) -> dict[str, object]:
        lane = judge.lane
        mean = lane.seconds / max(lane.cycles, 1)
        return {
            **self.tallies[lane.name].as_data(),
            "waitingThatWouldRun": len(judge.wishes.binds),
            "cycles": lane.cycles,
            "meanCycleSeconds": round(mean, 6),
        }
