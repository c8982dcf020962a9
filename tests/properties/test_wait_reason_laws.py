"""Laws of why jobs wait: there is always one reason that binds, and never means never."""

from __future__ import annotations

from hypothesis import given

from hekla.conf import Conf
from hekla.engine.explain.explanation import explain_all
from hekla.engine.explain.findings import waits
from hekla.engine.framework.decisions import Bind
from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import Verdict, in_order
from hekla.objects import Manifest, Pod, PodGroup
from hekla.objects.keys import GROUP_NAME
from hekla.testing.conf_strategies import confs
from hekla.testing.strategies import CROWDED, RandomCluster, clusters


@given(clusters(places=CROWDED), confs(always=("gang",)))
def test_what_waits_has_reasons_of_which_the_first_binds(cluster: RandomCluster, conf: Conf) -> None:
    session = cluster.cycle(conf).session
    jobs = list(session.jobs.values())
    before = session.fingerprint()
    for job, told in zip(jobs, explain_all(session, jobs), strict=True):
        assert (told.code is not None) == (told.verdict is not None) == bool(told.findings) == waits(job)
        assert list(told.findings) == in_order(told.findings)
        assert all(finding.text for finding in told.findings)
    assert session.fingerprint() == before


@given(clusters(places=("pending",)), confs(always=("gang",), switches={"gang": {}}))
def test_what_is_never_to_start_does_not_start_where_nothing_else_is(
    cluster: RandomCluster, conf: Conf
) -> None:
    session = cluster.cycle(conf).session
    jobs = [job for job in session.jobs.values() if len(job.roster.having(Status.PENDING)) == len(job.roster)]
    for job, told in zip(jobs, explain_all(session, jobs), strict=True):
        if told.verdict is Verdict.NEVER:
            alone = cluster.with_others([each for each in cluster.others if belongs(each, job.uid)])
            assert not [each for each in alone.cycle(conf).decisions if isinstance(each, Bind)], told


def belongs(each: Manifest, job: str) -> bool:
    """Whether it is part of the job, or no part of any."""
    if isinstance(each, Pod):
        return f"{each.metadata.namespace}/{each.metadata.annotations.get(GROUP_NAME, '')}" == job
    return not isinstance(each, PodGroup) or each.key == job
