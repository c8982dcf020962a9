"""Examples below the help of every command: lines to be typed as they stand, where the files are there."""

from __future__ import annotations

import click

EXAMPLES = {
    "hekla": (
        "hekla demo",
        "hekla decide cluster.yaml",
        "hekla explain cluster.yaml",
        "hekla plan job.yaml --state cluster.yaml",
        "hekla simulate week.yaml --report week.html",
        "hekla job list -A",
    ),
    "hekla actions": ("hekla actions", "hekla actions allocate"),
    "hekla capacity": (
        'hekla capacity week.yaml --nodes "4..64 x cpu=32" --goal "wait.p95 < 10m"',
        'hekla capacity week.yaml --quota "research weight 1..9" --goal "wait.p95 < 1h"',
    ),
    "hekla compare": (
        "hekla compare week.yaml --preset default --preset helm",
        "hekla compare week.yaml --preset helm --conf mine.conf --report both.html",
    ),
    "hekla conf": ("hekla conf check mine.conf", "hekla conf show --preset helm"),
    "hekla conf check": ("hekla conf check mine.conf --strict",),
    "hekla conf presets": ("hekla conf presets", "hekla conf presets helm"),
    "hekla conf show": ("hekla conf show mine.conf", "hekla conf show --preset helm -o json"),
    "hekla decide": ("hekla decide cluster.yaml", "hekla decide --from-cluster -o wide"),
    "hekla demo": ("hekla demo", "hekla demo --export mine"),
    "hekla explain": (
        "hekla explain cluster.yaml --job train",
        "hekla explain cluster.yaml --queue research --reason no-room",
        "hekla explain --from-cluster",
    ),
    "hekla forecast": (
        "hekla forecast cluster.yaml --default-duration 2h",
        "hekla forecast --calibrate week.yaml --moments 5",
    ),
    "hekla history": (
        "hekla history --from-cluster -O past.yaml",
        "hekla history day.hekla -O past.yaml",
    ),
    "hekla install": (
        "hekla install > hekla.yaml",
        "hekla install --drop-in --conf mine.conf > hekla.yaml",
    ),
    "hekla job": ("hekla job list -A", "hekla job get train"),
    "hekla job get": ("hekla job get train", "hekla job get research/train -o yaml"),
    "hekla job list": (
        "hekla job list",
        "hekla job list -A --queue research",
        "hekla job list cluster.yaml -A",
    ),
    "hekla node": ("hekla node list", "hekla node get node-1"),
    "hekla node get": ("hekla node get node-1",),
    "hekla node list": ("hekla node list", "hekla node list cluster.yaml -o wide"),
    "hekla plan": (
        "hekla plan job.yaml --state cluster.yaml",
        "hekla plan job.yaml --from-cluster",
        "hekla plan --job train --state cluster.yaml",
    ),
    "hekla plugins": ("hekla plugins", "hekla plugins binpack"),
    "hekla queue": ("hekla queue list", "hekla queue get research"),
    "hekla queue get": ("hekla queue get research",),
    "hekla queue list": ("hekla queue list", "hekla queue list cluster.yaml -o wide"),
    "hekla replay": ("hekla replay day.hekla", "hekla replay day.hekla --at 1"),
    "hekla run": ("hekla run cluster.yaml --report run.html", "hekla run cluster.yaml --record day.hekla"),
    "hekla serve": (
        "hekla serve --kubeconfig ~/.kube/config --scheduler-conf mine.conf",
        "hekla serve --controllers --record day.hekla",
    ),
    "hekla shadow": (
        "hekla shadow --conf-from-cluster --duration 1h",
        "hekla shadow --conf-from-cluster --candidate mine.conf --report told.json",
    ),
    "hekla simulate": (
        "hekla simulate week.yaml --report week.html",
        'hekla simulate trace.swf --nodes "16 x cpu=32" --limit 1000',
    ),
    "hekla snapshot": ("hekla snapshot -O state.json", "hekla snapshot --scramble 7 -O state.json"),
    "hekla workload": ("hekla workload show week.yaml", "hekla workload convert trace.swf -O jobs.yaml"),
    "hekla workload convert": (
        "hekla workload convert trace.swf --limit 1000 -O jobs.yaml",
        "hekla workload convert log.csv --columns submit=At,run=Seconds -O jobs.yaml",
    ),
    "hekla workload generate": (
        'hekla workload generate --nodes "4 x cpu=96,memory=1Ti,gpu=8" -O week.yaml',
    ),
    "hekla workload show": ("hekla workload show week.yaml", "hekla workload show trace.swf --limit 1000"),
}


def write_examples(path: str, formatter: click.HelpFormatter) -> None:
    """Those of the command, one to a line, however long: a line that was folded could not be copied."""
    if path in EXAMPLES:
        with formatter.section("Examples"):
            formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in EXAMPLES[path]))
