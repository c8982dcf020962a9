#!/bin/sh
# Prints each command, then runs it.
set -eu
cd "$(dirname "$0")"

step() {
    printf '$ %s\n' "$*"
    "$@"
}

step hekla conf check --plugin rack.py:Rack scheduler.conf
step hekla run cluster.yaml job.yaml
step hekla run --conf scheduler.conf --plugin rack.py:Rack cluster.yaml job.yaml
