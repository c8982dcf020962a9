#!/bin/sh
# Prints each command, then runs it.
set -eu
cd "$(dirname "$0")"

step() {
    printf '$ %s\n' "$*"
    "$@"
}

step hekla decide --cycles 2 --conf scheduler.conf cluster.yaml jobs.yaml
step hekla explain --cycles 2 --conf scheduler.conf --job default/bulky-default-bulky cluster.yaml jobs.yaml
step hekla run --conf scheduler.conf cluster.yaml jobs.yaml
