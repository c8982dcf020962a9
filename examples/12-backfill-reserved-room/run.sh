#!/bin/sh
# Prints each command, then runs it.
set -eu
cd "$(dirname "$0")"

step() {
    printf '$ %s\n' "$*"
    "$@"
}

step hekla decide --cycles 2 --conf hold.conf cluster.yaml jobs.yaml
step hekla decide --cycles 2 --conf backfill.conf cluster.yaml jobs.yaml
