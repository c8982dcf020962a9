#!/bin/sh
# Prints each command, then runs it.
set -eu
cd "$(dirname "$0")"

step() {
    printf '$ %s\n' "$*"
    "$@"
}

step hekla explain --cycles 2 --conf scheduler.conf cluster.yaml queues.yaml jobs.yaml
step hekla run --conf scheduler.conf cluster.yaml queues.yaml jobs.yaml
step hekla run --until 12 --conf scheduler.conf cluster.yaml queues.yaml branch.yaml
step hekla run --conf branch.conf cluster.yaml queues.yaml branch.yaml
