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
# Which job comes first, and when it may start.
- plugins:
  - name: priority
  - name: gang
  - name: conformance
# How much may wait, which queue has had how much, and which node is best.
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""

FAIR_SHARING = """\
# Fair sharing: queues may borrow what other queues leave idle, and give it back when it is wanted.
# Borrowers are evicted only from queues with `reclaimable: true`.
# No overcommit: it keeps jobs out of a full cluster, and only an admitted job makes other jobs give way.
actions: "enqueue, allocate, backfill, reclaim"
tiers:
# Three have a say in a reclaim: gang (spare the minimum of a job), conformance (spare system pods) and
# proportion (take only what a queue holds beyond its share).
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: proportion
- plugins:
  - name: drf
  - name: predicates
  - name: nodeorder
configurations:
- name: reclaim
  arguments:
    victimMode: intersectAll    # all three must agree; tier by tier, one could be overruled by another
"""

EVERYTHING = """\
# Everything: place, fill, take back between queues, preempt inside a queue, relieve nodes that are too busy.
# Idle resources are handed out first; only what is still starving evicts; shuffle comes last.
# No overcommit: it keeps jobs out of a full cluster, and only an admitted job makes other jobs give way.
actions: "enqueue, allocate, backfill, reclaim, preempt, shuffle"
tiers:
# In a reclaim gang, conformance and proportion have a say, in a preemption priority and conformance.
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
  - name: usage                 # keeps pods off busy nodes, so that those that leave one go elsewhere
  - name: rescheduling          # names victims for shuffle, every five minutes at most
    arguments:
      strategies:
      - name: lowNodeUtilization
        params:
          thresholds: {cpu: 20, memory: 20}          # below this in both, a node has room
          targetThresholds: {cpu: 80, memory: 80}    # above this in one, a node is too busy
configurations:
- name: reclaim
  arguments:
    victimMode: intersectAll    # all must agree; tier by tier, one could be overruled by another
# Where the load of nodes is read: here their annotations hekla.dev/cpu-usage and hekla.dev/memory-usage, in
# percent. Nodes without them count as idle. Other sources are a file and Prometheus.
metrics:
  type: annotations
"""

PRIORITY_FIRST = """\
# Priority first: an urgent job takes the place of less urgent ones of its queue.
# Preempt runs before backfill, so that best-effort tasks do not slip into what is being freed.
# No overcommit: it keeps jobs out of a full cluster, and only an admitted job makes other jobs give way.
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
