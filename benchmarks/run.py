"""How long the actions of one cycle take on the clusters of workloads.yaml.

    python benchmarks/run.py [--repeat N] [--check] [NAME ...]

Each workload runs several times in this one process; the best run counts, because everything
else on the machine only ever adds time. `--check` exits 1 where a limit is broken.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from clusters import SHAPES

from hekla.cli.table import table
from hekla.conf import PRESETS, read_conf, require
from hekla.framework.decisions import Bind, Evict
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.state.snapshot import take_snapshot

HERE = Path(__file__).parent
REFERENCE = 0.12
"""Seconds that `calibrate` takes on the machine that limits are written for."""


def calibrate() -> float:
    """A fixed amount of interpreter and NumPy work, to tell a slow machine from a slow program."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        values = np.arange(100_000, dtype=np.float64)
        for _ in range(300):
            values = np.sqrt(values * 1.0001 + 1.0)
        table_of: dict[int, int] = {}
        for number in range(1_000_000):
            table_of[number & 1023] = number
        best = min(best, time.perf_counter() - start)
    return best


def measure(workload: dict[str, Any], repeat: int) -> dict[str, Any]:
    """Best times of several runs, and what was decided."""
    text = workload.get("conf") or PRESETS[workload["preset"]].text
    conf = require(read_conf(text, catalogue=BUILTIN.catalogue()))
    objects = SHAPES[workload["shape"]](workload["nodes"], workload["jobs"], workload["tasks"])
    best: dict[str, Any] = {}
    for _ in range(repeat):
        snapshot = take_snapshot(objects)
        gc.collect()
        report = run_cycle(snapshot, conf)
        actions = sum(report.times[name] for name in conf.actions)
        if not best or actions < best["actions"]:
            best = {
                "actions": actions,
                "open": report.times["open"],
                "close": report.times["close"],
                "binds": sum(isinstance(decision, Bind) for decision in report.decisions),
                "evictions": sum(isinstance(decision, Evict) for decision in report.decisions),
            }
    return {"name": workload["name"], "limit": workload.get("limit"), **best}


def row_of(result: dict[str, Any], slowness: float) -> list[str]:
    placed = result["binds"] + result["evictions"]
    limit = result["limit"]
    verdict = "-" if limit is None else ("ok" if result["actions"] <= limit * slowness else "TOO SLOW")
    return [
        result["name"],
        f"{result['open']:.3f}",
        f"{result['actions']:.3f}",
        f"{result['close']:.3f}",
        str(result["binds"]),
        str(result["evictions"]),
        f"{placed / result['actions']:,.0f}",
        verdict,
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--save", type=Path, help="also write the figures as JSON")
    arguments = parser.parse_args()
    workloads = yaml.safe_load((HERE / "workloads.yaml").read_text())
    chosen = [w for w in workloads if not arguments.names or any(n in w["name"] for n in arguments.names)]
    calibration = calibrate()
    slowness = max(1.0, calibration / REFERENCE)
    print(f"calibration {calibration:.3f} s (reference {REFERENCE} s), Python {platform.python_version()}")
    results = []
    for workload in chosen:
        print(f"measuring {workload['name']} ...", file=sys.stderr)
        results.append(measure(workload, arguments.repeat))
    headers = ("cluster", "open s", "actions s", "close s", "bound", "evicted", "pods/s", "limit")
    print(table(headers, [row_of(result, slowness) for result in results]))
    if arguments.save:
        arguments.save.write_text(json.dumps({"calibration": calibration, "results": results}, indent=2))
    broken = [r for r in results if r["limit"] and r["actions"] > r["limit"] * slowness]
    return 1 if arguments.check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
