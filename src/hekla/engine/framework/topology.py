"""Topology: what jobs ask of the network, made plain, and where their tasks lie already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hekla.engine.ledger.domains import Domains
from hekla.engine.model.job import Job, SubJob, is_vague
from hekla.engine.model.status import ALLOCATED_SET
from hekla.engine.model.task import NOWHERE
from hekla.objects.complaint import Complaint
from hekla.objects.scheduling import NetworkTopology

if TYPE_CHECKING:
    from hekla.engine.framework.session import Session


def settle_topology(jobs: Iterable[Job], domains: Domains) -> list[Complaint]:
    """Actions see only hard constraints with a tier, and know the domain of what is placed.

    A tier name that no domain bears binds nothing, as in Volcano; it is told.
    """
    complaints: list[Complaint] = []
    for job in jobs:
        if not job.has_topology:
            continue
        _make_plain(job, domains)
        if domains.is_ready:
            _find_domains(job, domains)
        for name in dict.fromkeys(one.highest_tier_name for one in filter(is_vague, job.constraints)):
            message = f'highestTierName: no hypernode has tier name "{name}"; the constraint binds nothing'
            complaints.append(Complaint(f"podgroup {job.uid}", message))
    return complaints


def _make_plain(job: Job, domains: Domains) -> None:
    """Tier names become tiers; a soft constraint becomes a hard one that allows the whole cluster."""
    top = domains.top.tier
    job.topology = _hardened(_with_tier(job.pod_group.spec.network_topology, domains), top)
    limit = job.topology.highest_tier_allowed if job.topology is not None else None
    for sub_job in job.sub_jobs.values():
        sub_job.topology = _hardened(_with_tier(sub_job.asked, domains), top if limit is None else limit)


def _with_tier(topology: NetworkTopology | None, domains: Domains) -> NetworkTopology | None:
    if topology is None or topology.highest_tier_allowed is not None or not topology.highest_tier_name:
        return topology
    tier = domains.tier_of_name.get(topology.highest_tier_name)
    return topology if tier is None else replace(topology, highest_tier_allowed=tier)


def _hardened(topology: NetworkTopology | None, limit: int) -> NetworkTopology | None:
    if topology is None or topology.mode != "soft":
        return topology
    return replace(topology, mode="hard", highest_tier_allowed=limit)


def _find_domains(job: Job, domains: Domains) -> None:
    for sub_job in job.sub_jobs.values():
        # A part without a wish of its own still tells where the job lies, which Volcano remembers.
        if sub_job.topology is not None or job.topology is not None:
            sub_job.domain = domains.lowest_around(_rows_of(sub_job))
    job.domain = domains.common_of(sub_job.domain for sub_job in job.sub_jobs.values())


def _rows_of(sub_job: SubJob) -> list[int]:
    return [task.node for task in sub_job.roster.among(ALLOCATED_SET) if task.node != NOWHERE]


def has_its_network(session: Session, job: Job) -> bool:
    """A job that asks for a topology waits while the tree of network domains is broken."""
    if not job.has_topology or session.domains.is_ready:
        return True
    session.trace.of_job(job.uid, f"the network topology cannot be used: {session.domains.complaints[0]}")
    return False
