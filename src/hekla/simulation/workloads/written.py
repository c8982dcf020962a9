"""Workloads written by hand: a map of jobs, queues, nodes and faults, or plain manifests, in YAML or JSON."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hekla.errors import InputError
from hekla.objects import Manifest, Node, Pod, PodGroup, VolcanoJob
from hekla.objects.documents import Document, Unreadable, decoded, yaml_documents
from hekla.objects.keys import JOB_API_VERSION
from hekla.objects.read import files_in
from hekla.simulation.workloads.cluster_form import (
    Names,
    check_dependencies,
    check_faults,
    check_generated,
    check_names,
    check_objects,
    fault_of,
    hazards_of,
    nodes_in,
    priority_classes_of,
    queue_of,
)
from hekla.simulation.workloads.fields import AnyKey, Fields, Spot, as_a, as_manifest, is_manifest
from hekla.simulation.workloads.generate import generate
from hekla.simulation.workloads.generator_form import Settings, read_settings
from hekla.simulation.workloads.manifests import Placed, sorted_out, youngest
from hekla.simulation.workloads.model import (
    Account,
    Fault,
    Hazards,
    Submission,
    Workload,
)
from hekla.simulation.workloads.selection import Content, Jobs, ReadingOptions
from hekla.simulation.workloads.shapes import Shapes
from hekla.simulation.workloads.short_jobs import OVERRIDES, Entry, repeated, short_job, with_overrides
from hekla.simulation.workloads.source import Source
from hekla.simulation.workloads.vcjobs import running, submission_of

KEYS = frozenset(
    {"name", "jobs", "queues", "priorityClasses", "nodes", "objects", "faults", "hazards", "generate"}
)
HEAD_KEYS = KEYS - {"jobs"}
WHOLE_JOB_KEYS = OVERRIDES | {"job", "duration", "count", "every"}
JOB_HEADER = {"apiVersion": JOB_API_VERSION, "kind": "Job"}
_WORK = (VolcanoJob, PodGroup, Pod)


@dataclass
class Draft:
    """What has been read of a file so far."""

    source: str
    options: ReadingOptions
    name: str = ""
    shapes: Shapes = field(default_factory=Shapes)
    entries: list[Entry] = field(default_factory=list)
    work: list[Placed] = field(default_factory=list)
    """Jobs, PodGroups and pods in full."""
    objects: list[Placed] = field(default_factory=list)
    faults: list[tuple[Fault, Spot]] = field(default_factory=list)
    hazards: Hazards = field(default_factory=Hazards)
    settings: tuple[Settings, int, Spot] | None = None
    changed: Counter[str] = field(default_factory=Counter)
    are_manifests: bool = True
    """Nothing so far is in words of our own."""
    is_recorded: bool = False
    """Whether it is what a cluster was found to be, and not what a user has written."""

    def document(self, document: Document) -> None:
        """One document of a file: a workload in our words, a manifest, or a list of manifests."""
        spot = Spot(self.source, document=document)
        for line, remark in document.remarks:
            raise InputError(f"{self.source}:{line}: {remark}")
        data = document.data
        if isinstance(data, list):
            self.manifests(data, spot)
        elif isinstance(data, dict) and str(data.get("kind", "")).endswith("List"):
            items = Fields(data, spot, AnyKey())
            self.manifests([item for _, item in items.items("items")], spot.under("items"))
        elif is_manifest(data):
            self.manifest(as_manifest(data, spot), spot)
        else:
            self.head(data, spot, KEYS)

    def manifests(self, items: Sequence[object], around: Spot) -> None:
        for index, item in enumerate(items):
            spot = around.under(index)
            self.manifest(as_manifest(item, spot), spot)

    def manifest(self, manifest: Manifest, spot: Spot) -> None:
        (self.work if isinstance(manifest, _WORK) else self.objects).append((manifest, spot))

    def head(self, data: object, spot: Spot, known: Iterable[str]) -> None:
        """A map in our own words."""
        fields = Fields(data, spot, frozenset(known))
        self.are_manifests = False
        self.name = fields.text("name", self.name)
        for place, item in fields.items("queues"):
            self.objects.append((queue_of(item, place), place))
        self.objects += priority_classes_of(fields)
        self.objects += [(node, spot.under("nodes")) for node in nodes_in(fields)]
        for place, item in fields.items("objects"):
            self.manifest(as_manifest(item, place), place)
        for place, item in fields.items("jobs"):
            self.job(item, place)
        if "hazards" in fields:
            self.hazards = hazards_of(fields)
        added = 0
        for place, item in fields.items("faults"):
            added += isinstance(item, dict) and "add" in item
            fault = fault_of(item, place, f"added{added}" if added > 1 else "added")
            self.faults.append((fault, place))
        if "generate" in fields:
            settings, seed = read_settings(fields.data["generate"], spot.under("generate"))
            self.settings = settings, self.options.seed if seed is None else seed, spot.under("generate")

    def job(self, item: object, spot: Spot) -> None:
        """A short job, or a whole one."""
        if isinstance(item, dict) and "job" in item:
            self.entries.append(self._whole_job(Fields(item, spot, WHOLE_JOB_KEYS)))
        elif is_manifest(item):
            manifest = as_manifest(item, spot)
            if not isinstance(manifest, _WORK):
                raise spot.under("kind").wrong(
                    "expected a Job, a PodGroup or a Pod; put the rest into objects"
                )
            self.work.append((manifest, spot))
        else:
            self.entries.append(short_job(item, spot, self.shapes, self.options.duration))

    def _whole_job(self, fields: Fields) -> Entry:
        """A Job in full; what stands beside it counts more than its annotations."""
        spot = fields.spot.under("job")
        given = fields.data["job"]
        job = as_a(VolcanoJob, {**JOB_HEADER, **given} if isinstance(given, dict) else given, spot)
        if "duration" in fields:
            job = running(job, fields.seconds("duration", 0.0, may_be_endless=True))
        submission = submission_of(job, spot, self.shapes, self.options.duration, self.changed)
        return repeated(fields, with_overrides(fields, submission))

    def content(self) -> Content:
        """The workload, if all that it names is there."""
        moment = youngest(manifest for manifest, _ in (*self.objects, *self.work))
        objects: list[Manifest] = [manifest for manifest, _ in self.objects]
        nodes = [*nodes_among(objects), *self.options.nodes]
        found = sorted_out(self.work, self.shapes, self.options.duration, moment, nodes)
        handed_in = Names(objects).usable(found.entries, found) if self.is_recorded else found.entries
        entries = [*self.entries, *handed_in]
        generated = self._generated(objects)
        if generated is not None:
            objects += without_known(generated.objects, objects)
        check_objects(self.objects)
        check_names(entries, objects)
        check_dependencies(entries)
        if self.settings is not None:
            check_generated(entries, self.settings[0], self.settings[2])
        check_faults(self.faults, nodes_among(objects) or self.options.nodes)
        return Content(
            name=self.name,
            jobs=jobs_of(entries, generated),
            objects=(*objects, *found.objects),
            faults=tuple(sorted((fault for fault, _ in self.faults), key=lambda fault: fault.at)),
            hazards=self.hazards,
            count=count_of(entries, generated),
            has_dependencies=any(entry.submission.after for entry in entries),
            are_manifests=self.are_manifests,
            dropped=found.dropped,
            changed=found.changed + self.changed,
        )

    def _generated(self, objects: Sequence[Manifest]) -> Workload | None:
        if self.settings is None:
            return None
        settings, seed, spot = self.settings
        try:
            return generate(settings, seed, nodes_among(objects) or self.options.nodes)
        except InputError as error:
            raise spot.wrong(str(error).removeprefix("generate: ")) from error


def read_written(source: Source, options: ReadingOptions) -> Content:
    """The workload of a file in our own words, or of manifests."""
    draft = Draft(source.name, options, name=source.stem)
    seen = False
    for document in documents_of(source):
        draft.document(document)
        seen = True
    if not seen:
        raise InputError(f"{source.name}: nothing in it; expected jobs, or manifests")
    return draft.content()


def read_folder(folder: Path, options: ReadingOptions) -> Content:
    """The workload of all files in a folder and below it, taken together."""
    draft = Draft(str(folder), options, name=folder.resolve().name)
    try:
        files = list(files_in(folder))
    except Unreadable as problem:
        raise InputError(f"{folder}: {problem}") from problem
    for file in files:
        draft.source = str(file)
        for document in documents_of(Source(file)):
            draft.document(document)
    return draft.content()


def documents_of(source: Source) -> Iterator[Document]:
    """The documents of a file. JSON is read as YAML, for the lines; what only JSON can be, without them."""
    try:
        text = decoded(source.content())
    except Unreadable as problem:
        raise InputError(f"{source.name}: {problem}") from problem
    for document in yaml_documents(text):
        if isinstance(document, Document):
            yield document
            continue
        if text.lstrip()[:1] == "{":
            try:
                yield Document(json.loads(text))
                return
            except (ValueError, RecursionError):
                pass
        raise source.wrong(document.line, str(document))


def jobs_of(entries: Sequence[Entry], generated: Workload | None) -> Jobs:
    """All jobs by time; of those at one moment in the order of the file, generated ones last."""
    once = sorted((e.submission for e in entries if e.count == 1), key=lambda each: each.submitted)
    repeated = [entry for entry in entries if entry.count > 1]

    def jobs(account: Account) -> Iterator[Submission]:
        streams: list[Iterable[Submission]] = [once, *(entry.submissions() for entry in repeated)]
        if generated is not None:
            streams.append(generated.jobs())
        if len(streams) == 1:
            yield from once
            return
        yield from heapq.merge(*streams, key=lambda each: each.submitted)
        if generated is not None:
            account.changed.update(generated.account.changed)

    return jobs


def count_of(entries: Iterable[Entry], generated: Workload | None) -> int | None:
    written = sum(entry.count for entry in entries)
    if generated is None:
        return written
    return None if generated.count is None else written + generated.count


def nodes_among(objects: Iterable[Manifest]) -> list[Node]:
    return [each for each in objects if isinstance(each, Node)]


def without_known(new: Iterable[Manifest], known: Iterable[Manifest]) -> list[Manifest]:
    """What the file itself says about a queue counts more than what generated work would make of it."""
    names = {(type(each), each.key) for each in known}
    return [each for each in new if (type(each), each.key) not in names]
