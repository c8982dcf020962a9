"""Whatever a file holds, it is a workload or one clear error; nothing else ever comes of it."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.errors import InputError
from hekla.simulation.workloads import nodes_of, read_workload

SAMPLES: dict[str, str] = {
    "swf": (
        "; Queue: 1 batch\n1 0 12 300 4 -1 -1 4 600 1048576 1 3 1 7 1 1 -1 -1\n"
        "2 5 -1 3 1 -1 -1 1 -1 -1 1 1 1 1 1 1 1 9\n"
    ),
    "openb": (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
        "scheduled_time\np-0,8000,30517,0,0,,BE,Running,100,400,100\np-1,16000,32768,1,220,G2|T4,LS,Running,1,2,1\n"
    ),
    "pai": "j1,ps,2,Terminated,500.0,800.0,150.0,10.5,,\nj2,w,1,Terminated,1,2,600,29,50,T4\n",
    "philly": json.dumps(
        [
            {
                "jobid": "a",
                "vc": "v",
                "submitted_time": "2017-10-09 07:02:33",
                "attempts": [
                    {
                        "start_time": "2017-10-09 07:02:33",
                        "end_time": "2017-10-09 08:02:33",
                        "detail": [{"gpus": ["g0"]}],
                    }
                ],
            }
        ],
        indent=1,
    ),
    "jsonl": (
        '{"queues": ["q"]}\n{"name": "a", "duration": 5, "queue": "q"}\n{"name": "b", "duration": "1h"}\n'
    ),
    "hekla": (
        "queues: [{name: q, weight: 2}]\nnodes: 2 x cpu=4,gpu=1\nfaults: [{at: 5, fail: node-0001}]\n"
        "jobs:\n- {name: a, duration: 5, queue: q, cpu: 1, pods: 2}\n"
        "- {name: b, arrival: 1h, duration: 9, after: a}\n"
        "generate: {jobs: 3, load: 0.5, pods: [{cpu: 1}], sizes: {1: 1}}\n"
    ),
    "sacct": (
        "JobID|JobName|User|Partition|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NNodes|ReqMem|AllocTRES\n"
        "7|train|ann|gpu|COMPLETED|2026-01-31T12:00:00|2026-01-31T12:00:09|2026-01-31T12:05:00|"
        "2026-01-31T13:05:00|01:00:00|1-00:00:00|2|4000Mc|cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=1G,node=2\n"
        "7.batch|batch||||||||||||\n8+0|het|bob|cpu|FAILED|2026-01-31T12:01:00|Unknown|None|Unknown|00:00|Partition_Limit|1||\n"
        "9_4|sweep|bob|cpu|TIMEOUT|2026-01-31T12:01:00||2026-01-31T12:01:05||3|UNLIMITED|1|16Gn|cpu=1\n"
    ),
    "csv": (
        "name,namespace,queue,user,state,submitted,started,finished,run_seconds,estimate,pods,minimum,cpu,"
        "nvidia.com/gpu\na,default,q,ann,completed,0.0,1.0,5.0,4.0,,3,2,10.0,7\n"
        "b,ml,default,,running,2.5,3.0,,,60,1,1,0.5,\n"
    ),
    "run": json.dumps(
        {
            "title": "t",
            "configuration": "c",
            "seed": 0,
            "isComplete": True,
            "summary": {},
            "jobs": [
                {
                    "name": "a",
                    "namespace": "default",
                    "queue": "q",
                    "user": None,
                    "state": "completed",
                    "submitted": 2.5,
                    "runSeconds": None,
                    "estimate": 3.0,
                    "pods": 3,
                    "minimum": 2,
                    "requests": {"cpu": 2.5, "nvidia.com/gpu": None},
                }
            ],
        }
    ),
    "manifests": json.dumps(
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "p"},
                    "spec": {"schedulerName": "volcano"},
                },
            ],
        }
    ),
}
FRAGMENTS = st.sampled_from(
    [
        "",
        "-1",
        "nan",
        "1e999",
        '"',
        "}",
        "]",
        ":",
        ",",
        "\n",
        " ",
        "\x00",
        "é",
        "null",
        "{",
        "-",
        "99999999999999999999",
    ]
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A sound file, cut off, or with a piece replaced."""
    form = draw(st.sampled_from(sorted(SAMPLES)))
    text = SAMPLES[form]
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(FRAGMENTS) + text[end:]
    data = text[: draw(st.integers(0, len(text)))].encode() if draw(st.booleans()) else text.encode()
    return form, gzip.compress(data) if draw(st.booleans()) else data


@pytest.mark.parametrize("form", SAMPLES)
def test_samples_are_sound_and_found_out(tmp_path: Path, form: str) -> None:
    file = tmp_path / ("file.csv" if form in {"openb", "pai"} else "file")
    file.write_text(SAMPLES[form])
    assert list(read_workload(file).jobs()) == list(read_workload(file, format=form).jobs()) != []


@given(damaged(), st.booleans(), st.booleans())
def test_a_damaged_file_is_a_workload_or_an_error(
    case: tuple[str, bytes], lenient: bool, is_named: bool
) -> None:
    form, data = case
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file")
        file.write_bytes(data)
        try:
            work = read_workload(file, lenient=lenient, format=form if is_named else None)
        except InputError as error:
            told = str(error)
        else:
            told = ""
        if told:
            assert told.startswith(str(file))
            return
        times = [job.submitted for job in work.jobs()]
        assert times == sorted(times)
        assert work.account.taken == len(times) == (work.count if work.count is not None else len(times))


@given(st.text(alphabet="0123456789x=,;+ \nabcpugm.:-", max_size=40))
def test_any_text_describes_nodes_or_is_an_error(text: str) -> None:
    try:
        nodes = nodes_of(text)
    except InputError:
        return
    assert len({node.metadata.name for node in nodes}) == len(nodes) > 0
