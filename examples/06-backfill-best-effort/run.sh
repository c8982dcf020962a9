#!/bin/sh
# Prints each command, then runs it.
set -eu
cd "$(dirname "$0")"

step() {
    printf '$ %s\n' "$*"
    "$@"
}

step hekla explain --cycles 2 cluster.yaml jobs.yaml
step hekla run cluster.yaml jobs.yaml
