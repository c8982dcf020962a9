"""What the API server sends, as typed manifests."""

from __future__ import annotations

import json

import pytest

from hekla.cluster.kubernetes.api.client import Refused, Unreachable
from hekla.cluster.kubernetes.api.wire import Unfit, Wire
from hekla.objects import HyperNode, Pod, PodGroup


def line(type_: str, thing: dict[str, object]) -> bytes:
    return json.dumps({"type": type_, "object": thing}).encode()


POD = {
    "metadata": {"name": "a", "namespace": "x", "uid": "1", "resourceVersion": "7"},
    "spec": {"nodeName": "n"},
}


def test_a_page_gives_its_objects_its_version_and_what_follows() -> None:
    page = Wire(Pod).page(
        json.dumps({"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [POD]}).encode()
    )
    assert [item.key for item in page.items] == ["x/a"]
    assert (page.version, page.rest) == ("9", "more")


def test_an_object_that_does_not_fit_is_named_and_the_others_are_read() -> None:
    bad = {"metadata": {"name": "b", "namespace": "x"}, "spec": {"minMember": "three"}}
    good = {"metadata": {"name": "c", "namespace": "x"}, "spec": {"minMember": 3}}
    page = Wire(PodGroup).page(json.dumps({"metadata": {}, "items": [bad, good]}).encode())
    unfit, fit = page.items
    assert isinstance(unfit, Unfit)
    assert str(unfit.complaint) == (
        'podgroup x/b: left out: spec.minMember: expected a whole number, got text "three"'
    )
    assert isinstance(fit, PodGroup)
    assert fit.spec.min_member == 3


def test_null_fields_count_as_absent() -> None:
    data = json.dumps({"metadata": {"name": "b", "namespace": "x"}, "spec": {"queue": None}}).encode()
    assert Wire(PodGroup).object(data).spec.queue == ""


def test_an_event_tells_type_object_and_version() -> None:
    event = Wire(Pod).event(line("MODIFIED", POD))
    assert (event.type, event.version) == ("MODIFIED", "7")
    assert isinstance(event.object, Pod)
    assert event.object.spec.node_name == "n"


def test_a_bookmark_of_a_kind_with_required_fields_is_understood() -> None:
    event = Wire(HyperNode).event(line("BOOKMARK", {"metadata": {"resourceVersion": "12"}}))
    assert (event.type, event.object, event.version) == ("BOOKMARK", None, "12")


def test_an_error_inside_a_watch_is_the_refusal_that_it_is() -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    with pytest.raises(Refused) as caught:
        Wire(Pod).event(line("ERROR", gone))
    assert caught.value.is_expired


def test_half_a_line_is_no_answer() -> None:
    with pytest.raises(Unreachable, match="cannot be read"):
        Wire(Pod).event(b'{"type": "ADDED", "obj')
