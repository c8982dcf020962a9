#!/bin/sh
# Prints each command, then runs it.
set -eu
cd "$(dirname "$0")"

step() {
    printf '$ %s\n' "$*"
    "$@"
}

step python compare.py
