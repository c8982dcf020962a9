"""Same objects, same configuration, same decisions as Volcano.

The scenarios are not part of the project: they are looked for in `../shared/conformance` beside the
checkout, or where HEKLA_CONFORMANCE points to; without them these tests are skipped.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hekla.conf import read_conf, require
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.model.node import Shard
from hekla.engine.model.status import Status
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects.scenario import read_scenario
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "conformance"
FOLDER = Path(os.environ.get("HEKLA_CONFORMANCE", BESIDE))
FAMILIES = sorted({folder.name for folder in FOLDER.glob("*/*") if folder.is_dir()})
MOST_DISAGREEMENT = 0.02
GROUP_NAME = "scheduling.k8s.io/group-name"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no scenarios in {FOLDER}")


@pytest.mark.parametrize("family", FAMILIES)
def test_decisions_agree_with_volcano(family: str) -> None:
    files = sorted(FOLDER.glob(f"*/{family}/*.json"))
    differing = {file.name: told for file in files if (told := difference(file))}
    samples = "\n".join(f"{name}: {told}" for name, told in list(differing.items())[:5])
    assert files, f"no scenarios of family {family} in {FOLDER}"
    # A small family may differ in one scenario, which is more than 2 % of it.
    allowed = math.ceil(MOST_DISAGREEMENT * len(files))
    assert len(differing) <= allowed, f"{len(differing)} of {len(files)} disagree\n{samples}"


def difference(file: Path) -> str:
    """Where hekla and Volcano part ways in a scenario; empty where they agree."""
    want, got = json.loads(file.read_text())["expect"], decide(file)
    got["podGroups"] = {name: got["podGroups"].get(name) for name in want.get("podGroups", ())}
    if "loose" in want:
        # Volcano itself chooses among equals there: only the counts per pod group are fixed.
        want = want["loose"]
        got = per_group(file, got)
    return "; ".join(
        f"{key}: Volcano {expected}, hekla {got.get(key)}"
        for key, expected in want.items()
        if key != "loose" and _sorted(got.get(key)) != _sorted(expected)
    )


def decide(file: Path) -> dict[str, Any]:
    scenario = read_scenario(file)
    sharding = scenario.sharding
    shard = Shard() if sharding is None else Shard(sharding.mode, frozenset(sharding.nodes))
    conf = require(read_conf(scenario.conf, file.name, BUILTIN.catalogue()), strict=False)
    report = run_cycle(take_snapshot(scenario.objects, shard=shard), conf)
    jobs = report.session.jobs.values()
    return {
        "binds": {d.pod: d.node for d in report.decisions if isinstance(d, Bind)},
        "evictions": [d.pod for d in report.decisions if isinstance(d, Evict)],
        "pipelined": {
            task.key: task.node_name for job in jobs for task in job.roster.having(Status.PIPELINED).values()
        },
        "podGroups": {job.uid: job.phase for job in jobs},
    }


def per_group(file: Path, got: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
    group_of: dict[str, str] = {}
    for manifest in json.loads(file.read_text())["objects"]:
        meta = manifest["metadata"]
        if manifest["kind"] == "Pod":
            group = (meta.get("annotations") or {}).get(GROUP_NAME, "")
            group_of[f"{meta['namespace']}/{meta['name']}"] = f"{meta['namespace']}/{group}"
    keys = {"boundPerGroup": "binds", "evictedPerGroup": "evictions", "pipelinedPerGroup": "pipelined"}
    return {loose: dict(Counter(group_of[pod] for pod in got[part])) for loose, part in keys.items()}


def _sorted(part: object) -> object:
    return sorted(part) if isinstance(part, list) else part
