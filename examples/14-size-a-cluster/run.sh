#!/bin/sh
# Prints each command, then runs it.
set -eu
cd "$(dirname "$0")"

step() {
    printf '$ %s\n' "$*"
    "$@"
}

step hekla capacity team.yaml --nodes "2..12 x cpu=64,gpu=8" --goal "wait.p95 < 10m" --seeds 3
step hekla capacity team.yaml --nodes "4 x cpu=64,gpu=8" --quota "batch capability gpu=4..32/4" --queue batch --goal "wait.mean < 10m"
