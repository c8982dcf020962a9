#!/bin/sh
# Prints each command, then runs it.
set -eu
cd "$(dirname "$0")"

step() {
    printf '$ %s\n' "$*"
    "$@"
}

# Without the package the name is unknown: a warning, and the cycle runs without it.
step hekla conf check scheduler.conf
step hekla run --conf scheduler.conf cluster.yaml job.yaml

# What `pip install .` leaves behind, made by hand in a folder for this run, so that nothing has to be
# fetched and nothing stays: the package, and a dist-info folder with its entry points.
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
cp -R src/hekla_neighbours "$site"
mkdir "$site/hekla_neighbours-0.1.0.dist-info"
cat > "$site/hekla_neighbours-0.1.0.dist-info/METADATA" <<'METADATA'
Metadata-Version: 2.1
Name: hekla-neighbours
Version: 0.1.0
METADATA
cat > "$site/hekla_neighbours-0.1.0.dist-info/entry_points.txt" <<'ENTRY_POINTS'
[hekla.plugins]
neighbours = hekla_neighbours.neighbours:Neighbours
ENTRY_POINTS
export PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1

step hekla conf check scheduler.conf
step hekla plugins neighbours
step hekla run --conf scheduler.conf cluster.yaml job.yaml
