"""How long cycles take on the clusters of workloads.yaml, and whether that keeps to the limits.

python benchmarks/run.py [NAME ...]                     all workloads, or those with such a name
python benchmarks/run.py --quick                        the important ones, in less than a minute
python benchmarks/run.py --check --save FILE            exit 1 where a must is broken; keep the figures
python benchmarks/run.py --compare OLD.json NEW.json    two kept files side by side
python benchmarks/run.py --compare-commits A B [NAME]   two commits in turn; . is the checkout itself
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from compare import compare_commits, comparison
from figures import Figures, Results, load
from machine import this_commit, this_machine
from measure import measure
from report import breaks_a_must, heading, table_of
from workloads import Listing, Workload, listed


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = parser().parse_args(arguments)
    if chosen.compare:
        print(comparison(*map(load, chosen.compare)))
        return 0
    if chosen.compare_commits:
        print(compare_commits(chosen.compare_commits, chosen.names, chosen.rounds))
        return 0
    listing = listed()
    workloads = listing.chosen(chosen.names, only_quick=chosen.quick)
    if not workloads:
        print("no such workload; there are: " + ", ".join(one.name for one in listing.workloads))
        return 2
    return bench(listing, workloads, chosen)


def bench(listing: Listing, workloads: Sequence[Workload], chosen: argparse.Namespace) -> int:
    figures = [
        told(listing, workload, chosen.repeat, f"{at} of {len(workloads)}")
        for at, workload in enumerate(workloads, 1)
    ]
    results = Results(this_machine(), this_commit(), figures)
    pairs = list(zip(workloads, figures, strict=True))
    print(heading(results), table_of(pairs), sep="\n\n")
    if chosen.save:
        results.save(chosen.save)
    broken = [workload.name for workload, one in pairs if breaks_a_must(workload, one)]
    if broken and chosen.check:
        print(f"\nnot within what must be kept: {', '.join(broken)}")
    return 1 if broken and chosen.check else 0


def told(listing: Listing, workload: Workload, repeat: int | None, which: str) -> Figures:
    """The figures of a workload; that it is being measured is told on standard error."""
    print(f"{which}: {workload.name} ...", file=sys.stderr, end=" ", flush=True)
    start = time.perf_counter()
    figures = measure(workload, listing.conf_of(workload), repeat)
    print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)
    return figures


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument(
        "names", nargs="*", metavar="NAME", help="only workloads whose name contains one of these"
    )
    words.add_argument("--quick", action="store_true", help="only the quick ones")
    words.add_argument("--repeat", type=int, metavar="N", help="runs of each workload; the best one counts")
    words.add_argument("--check", action="store_true", help="exit 1 where a must is broken")
    words.add_argument("--save", type=Path, metavar="FILE", help="keep the figures as JSON")
    words.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="two files of figures")
    words.add_argument("--compare-commits", nargs=2, metavar=("A", "B"), help="two commits")
    words.add_argument("--rounds", type=int, default=2, help="how often each commit has its turn (2)")
    return words


if __name__ == "__main__":
    sys.exit(main())
