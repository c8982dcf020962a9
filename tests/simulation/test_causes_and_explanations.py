"""What a simulation says that binds a job is nearly always what an explanation puts first."""

from __future__ import annotations

import numpy as np
import pytest

from hekla.engine.model.wait_reason import Verdict
from hekla.simulation.workloads import Hazards
from simulation.plays import job
from simulation.test_cause_laws import cause_at, has_lost_pods, listened_to
from simulation.test_left_out_cycle_laws import CONFS, QUEUES, Play


@pytest.mark.parametrize("conf", ["default", "capacity", "plain", "evicting"])
def test_nearly_every_cause_is_the_one_that_an_explanation_puts_first(conf: str) -> None:
    """But for those that an explanation finds lasting: it looks for more than what passes."""
    random = np.random.default_rng(7)
    jobs = [
        job(
            f"j{at:02}",
            float(random.integers(0, 200)),
            float(random.integers(10, 60)),
            int(random.integers(1, 4)),
            int(random.integers(1, 4)),
            queue=QUEUES[random.integers(len(QUEUES))],
        )
        for at in range(40)
    ]
    play = Play(sorted(jobs, key=lambda one: one.submitted), [], Hazards(), 1.0)
    run, moments = listened_to(play, CONFS[conf])
    told = [
        (cause.reason, explained.code)
        for moment in moments
        for uid, explained in moment.explained.items()
        if (cause := cause_at(run, uid, moment.now)) is not None
        and explained.verdict is not Verdict.NEVER
        and not has_lost_pods(moment.session.jobs[uid])
    ]
    assert len(told) > 300
    assert sum(mine is theirs for mine, theirs in told) > 0.95 * len(told)
