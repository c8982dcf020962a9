"""Presets: configurations to start from, written to be read."""

from __future__ import annotations

from dataclasses import dataclass

BUILT_IN_DEFAULT = """\
# What runs when no configuration is given; the same as Volcano's built-in default.
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority        # higher priority first
  - name: gang            # a job starts whole or not at all
  - name: conformance     # system pods are never evicted
- plugins:
  - name: overcommit      # limits how much work may wait for resources
  - name: drf             # jobs with a small dominant share first
  - name: predicates      # node selectors, taints, affinity, volumes
  - name: proportion      # divides the cluster between queues by weight
  - name: nodeorder       # scores nodes as Kubernetes does
"""

HELM = """\
# The configuration that Volcano's Helm chart installs.
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false    # a gang at its minimum may be preempted, by higher priority only
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false    # a small share alone is no reason to preempt
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack               # fill nodes up, so that large gaps stay whole
"""

BASIC = """\
# Basic: admit jobs, place them as gangs, fill the gaps. Nothing is ever evicted.
actions: "enqueue, allocate, backfill"
tiers:
# Who comes first, and when a job may start.
- plugins:
  - name: priority
  - name: gang
  - name: conformance
# How much may wait, who has had how much, and which node is best.
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""

FAIR_SHARING = """\
# Fair sharing: queues may borrow what others leave idle, and give it back when it is wanted.
# Borrowers are evicted only from queues with `reclaimable: true`.
# No overcommit: it keeps jobs out of a full cluster, and only an admitted job makes others give way.
actions: "enqueue, allocate, backfill, reclaim"
tiers:
# The first tier that names victims decides alone. So whoever has a say in a reclaim stands in
# one tier: gang (spare the minimum of a job), conformance (spare system pods) and proportion
# (take only what a queue holds beyond its share).
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: proportion
- plugins:
  - name: drf
  - name: predicates
  - name: nodeorder
"""

EVERYTHING = """\
# Everything: place, fill, take back between queues, preempt inside a queue, even out the load.
# Idle resources are handed out first; only what is still starving evicts; shuffle comes last.
# No overcommit: it keeps jobs out of a full cluster, and only an admitted job makes others give way.
actions: "enqueue, allocate, backfill, reclaim, preempt, shuffle"
tiers:
# Whoever has a say in an eviction stands in one tier: the first tier that names victims decides.
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false    # a gang at its minimum may be preempted, by higher priority only
  - name: conformance
  - name: proportion
- plugins:
  - name: drf
    enablePreemptable: false    # a small share alone is no reason to preempt
  - name: predicates
  - name: nodeorder
  - name: binpack
"""

PRIORITY_FIRST = """\
# Priority first: an urgent job takes the place of less urgent ones of its queue.
# Preempt runs before backfill, so that best-effort tasks do not slip into what is being freed.
# No overcommit: it keeps jobs out of a full cluster, and only an admitted job makes others give way.
actions: "enqueue, allocate, preempt, backfill"
tiers:
# Victims have a strictly lower priority and are not system pods.
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false    # a gang at its minimum may be preempted, by higher priority only
  - name: conformance
- plugins:
  - name: drf
    enablePreemptable: false    # a small share alone is no reason to preempt
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


@dataclass(frozen=True)
class Preset:
    """A configuration to start from: what to call it, what it is for, its text."""

    name: str
    title: str
    text: str


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("default", "the built-in default of Volcano", BUILT_IN_DEFAULT),
        Preset("helm", "what Volcano's Helm chart installs", HELM),
        Preset("basic", "gangs and gaps, nothing is evicted", BASIC),
        Preset("fair-sharing", "queues lend what they do not need and get it back", FAIR_SHARING),
        Preset("everything", "all six actions: reclaim, preempt and shuffle too", EVERYTHING),
        Preset("priority-first", "urgent jobs preempt less urgent ones of their queue", PRIORITY_FIRST),
    )
}
