"""A run written down: data, tables, data frames and files."""

from __future__ import annotations

import csv
import dataclasses
import json
import sys
from pathlib import Path

import pytest
from runs_by_hand import JobOf, NodeOf, PodRunOf, Scene

from hekla.errors import InputError
from hekla.simulation.measures import run_data, save
from hekla.simulation.measures.files import frame
from hekla.simulation.measures.records import (
    job_columns,
    pod_run_columns,
    queue_columns,
    records,
    series_columns,
    use_columns,
)
from hekla.simulation.run import Ending, State


@pytest.fixture
def scene() -> Scene:
    return Scene(
        jobs=[
            JobOf("low", 0.00049, 1.2345678, 90, run=60, cpu=1.5, gpu=1, pods=2, evictions=1),
            JobOf("high", 10, 20, 40, cpu=4),
            JobOf("late", 95),
            JobOf("stray", 5, queue=None, state=State.REFUSED),
        ],
        pod_runs=[
            PodRunOf("low", "n1", 1.2345678, 20, ending=Ending.EVICTED, kept=5, for_job="high"),
            PodRunOf("high", "n1", 20, 40),
        ],
        nodes=[NodeOf("n1", cpu=4, gpu=2)],
    )


def test_every_job_is_there_with_times_in_milliseconds_and_null_for_what_never_came(scene: Scene) -> None:
    jobs = run_data(scene.run())["jobs"]
    assert jobs[0] == {
        "name": "low",
        "namespace": "default",
        "queue": "default",
        "user": "",
        "state": "completed",
        "submitted": 0.0,
        "started": 1.235,
        "finished": 90.0,
        "runSeconds": 60.0,
        "estimate": None,
        "pods": 2,
        "minimum": 2,
        "evictions": 1,
        "failures": 0,
        "restarts": 0,
        "requests": {"cpu": 3.0, "nvidia.com/gpu": 2.0},
    }
    assert (jobs[2]["state"], jobs[2]["started"], jobs[2]["finished"]) == ("waiting", None, None)
    assert (jobs[3]["state"], jobs[3]["queue"]) == ("refused", None)


def test_equal_runs_are_equal_bytes_however_long_they_took(scene: Scene) -> None:
    once = json.dumps(run_data(scene.run()), allow_nan=False)
    again = json.dumps(run_data(dataclasses.replace(scene.run(), wall_seconds=12.3)), allow_nan=False)
    assert once == again
    assert "12.3" not in again


def test_records_are_rows_of_plain_values(scene: Scene) -> None:
    rows = records(job_columns(scene.run()))
    assert [row["name"] for row in rows] == ["low", "high", "late", "stray"]
    assert {type(value) for row in rows for value in row.values()} <= {str, int, float, type(None)}


def test_use_has_a_row_for_every_part_queue_and_resource(scene: Scene) -> None:
    rows = records(use_columns(scene.run(), buckets=2))
    assert len(rows) == 2 * 1 * 2
    assert rows[0] == {
        "began": 0.0,
        "ended": 50.0,
        "queue": "default",
        "resource": "cpu",
        "used": pytest.approx((1.5 * (20 - 1.2345678) + 4 * 20) / 50, abs=1e-6),
        "capacity": 4.0,
        "fragmentation": pytest.approx(rows[0]["fragmentation"]),
    }
    assert rows[-1]["resource"] == "nvidia.com/gpu"


def test_frames_have_nulls_where_times_never_came(scene: Scene) -> None:
    pl = pytest.importorskip("polars")
    jobs = frame(job_columns(scene.run()))
    assert jobs.schema["started"] == pl.Float64
    assert jobs["started"].to_list() == [1.235, 20.0, None, None]
    assert jobs["queue"].to_list() == ["default"] * 3 + [None]
    assert frame(pod_run_columns(scene.run()))["beneficiary"].to_list() == ["default/high", None]
    assert frame(queue_columns(scene.run()))["wait_mean"].to_list() == [
        pytest.approx((1.234 + 10) / 2, abs=1e-3)
    ]
    assert frame(series_columns(scene.run(), buckets=5)).height == 5
    assert frame(use_columns(scene.run(), buckets=5)).height == 10


def test_frames_of_a_run_of_nothing_have_their_columns() -> None:
    pl = pytest.importorskip("polars")
    run = Scene([], []).run()
    assert frame(pod_run_columns(run)).schema["job"] == pl.String
    assert frame(pod_run_columns(run)).schema["began"] == pl.Float64
    assert frame(job_columns(run)).height == 0


def test_who_has_no_polars_is_told_what_to_install(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InputError, match=r'pip install "hekla\[frames\]"'):
        frame(job_columns(scene.run()))
    with pytest.raises(InputError, match=r'pip install "hekla\[frames\]"'):
        save(scene.run(), tmp_path / "run.parquet")
    assert save(scene.run(), tmp_path / "run.csv") == [tmp_path / "run.csv"], "CSV needs nothing"


def test_json_has_the_summary_and_the_jobs(scene: Scene, tmp_path: Path) -> None:
    (path,) = save(scene.run(), tmp_path / "run.json")
    data = json.loads(path.read_text("utf-8"))
    assert data == run_data(scene.run())
    assert data["summary"]["jobs"] == 4


def test_csv_has_a_row_per_job_and_nothing_for_times_that_never_came(scene: Scene, tmp_path: Path) -> None:
    (path,) = save(scene.run(), tmp_path / "run.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["started"] for row in rows] == ["1.235", "20.0", "", ""]
    assert rows[0]["nvidia.com/gpu"] == "2.0"


def test_parquet_reads_back_as_the_frame(scene: Scene, tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    (path,) = save(scene.run(), tmp_path / "run.parquet")
    assert pl.read_parquet(path).equals(frame(job_columns(scene.run())))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_folder_gets_a_table_of_everything(scene: Scene, tmp_path: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("polars")
    paths = save(scene.run(), tmp_path / "new" / "out", form)
    assert [path.name for path in paths] == [f"{name}.{form}" for name in ("jobs", "stints", "series", "use")]
    assert all(path.stat().st_size for path in paths)


def test_names_and_forms_that_mean_nothing_are_told(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a name ends in \.json, \.csv or \.parquet, or is a folder"):
        save(scene.run(), tmp_path / "run.xlsx")
    with pytest.raises(InputError, match='cannot write tables as "xml"; there are: csv, parquet'):
        save(scene.run(), tmp_path / "out", "xml")


def test_a_place_that_cannot_be_written_is_told(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'run\.csv": No such file or directory'):
        save(scene.run(), tmp_path / "missing" / "run.csv")
