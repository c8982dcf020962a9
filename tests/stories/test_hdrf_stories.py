"""Hierarchical drf: departments are fair before their teams are."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.engine.framework.points import QUEUE_ORDER
from hekla.engine.plugins.drf import is_saturated
from hekla.testing import Story, job, node, plugin, queue, session_of

HDRF = [[plugin("drf", enableHierarchy=True)]]


def test_a_department_counts_as_its_poorest_team_scaled_up() -> None:
    """The worked example: eng holds more in sum, but its share is that of prod."""
    session = session_of(
        node("n1", cpu=10, memory=10, pods=1000),
        queue("sci", hierarchy="root/sci", hierarchy_weights="100/50"),
        queue("dev", hierarchy="root/eng/dev", hierarchy_weights="100/50/50"),
        queue("prod", hierarchy="root/eng/prod", hierarchy_weights="100/50/50"),
        job("s", tasks=2, cpu=3, memory=3, queue="sci", running={"n1": 1}, min_available=1),
        job("d", tasks=2, cpu=4, queue="dev", running={"n1": 1}, min_available=1),
        job("p", tasks=2, memory=2, queue="prod", running={"n1": 1}, min_available=1),
        tiers=HDRF,
    )
    sci, dev, prod = (session.queues[name] for name in ("sci", "dev", "prod"))
    assert session.ask(QUEUE_ORDER, dev, sci) == pytest.approx((0.2 - 0.3) / 50)
    assert session.ask(QUEUE_ORDER, prod, sci) == pytest.approx((0.2 - 0.3) / 50)
    assert session.ask(QUEUE_ORDER, prod, dev) == pytest.approx((0.2 - 0.4) / 50)
    assert session.ask(QUEUE_ORDER, sci, sci) == 0


@pytest.mark.parametrize(
    ("holds", "wants", "demanding", "expected"),
    [
        ([0.0], [4.0], [True], False),
        ([2.0], [4.0], [True], False),
        ([4.0], [4.0], [True], True),
        ([2.0], [4.0], [False], True),
        ([2.0, 0.0], [4.0, 4.0], [True, False], False),
    ],
    ids=[
        "a job with nothing is never saturated",
        "a job that wants more is not",
        "a job that has all it asked for is",
        "a job that wants what is used up is",
        "what it does not hold does not count",
    ],
)
def test_saturation(holds: list[float], wants: list[float], demanding: list[bool], expected: bool) -> None:
    assert is_saturated(np.array(holds), np.array(wants), np.array(demanding)) is expected


STORIES = [
    Story(
        "the heavier department gets the larger part",
        nodes=[node("n1", cpu=4)],
        queues=[
            queue("light", hierarchy="root/light", hierarchy_weights="1/1"),
            queue("heavy", hierarchy="root/heavy", hierarchy_weights="1/3"),
        ],
        jobs=[
            job("l", tasks=4, cpu=1, min_available=1, queue="light"),
            job("h", tasks=4, cpu=1, min_available=1, queue="heavy"),
        ],
        tiers=HDRF,
        expect={"l": {"n1": 1}, "h": {"n1": 3}},
    ),
    Story(
        "two teams of one department share what another department has alone",
        nodes=[node("n1", cpu=4)],
        queues=[
            queue("t1", hierarchy="root/a/t1", hierarchy_weights="1/1/1"),
            queue("t2", hierarchy="root/a/t2", hierarchy_weights="1/1/1"),
            queue("b", hierarchy="root/b", hierarchy_weights="1/1"),
        ],
        jobs=[
            job("one", tasks=4, cpu=1, min_available=1, queue="t1"),
            job("two", tasks=4, cpu=1, min_available=1, queue="t2"),
            job("alone", tasks=4, cpu=1, min_available=1, queue="b"),
        ],
        tiers=HDRF,
        expect={"one": {"n1": 1}, "two": {"n1": 1}, "alone": {"n1": 2}},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_hdrf(story: Story) -> None:
    assert story.play() == story.expect
