"""Growth curves: lines are fitted rightly, and pictures are SVG that says what it shows."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from growth import Curve, Plan, Point, gangs, idle, keep, kept, measured
from page import current_page, filled
from plot import Axis

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def curve(slope: float, name: str = "pods") -> Curve:
    points = [Point(size, 0.001 * size**slope) for size in (100, 1_000, 10_000)]
    return Curve(name, "Placing <pods>", "pods", "pods to place", points)


@pytest.mark.parametrize(
    ("slope", "words"),
    [
        (1.0, "slope 1.00, so ten times the pods take 10.0 times as long"),
        (0.3, "slope 0.30, so ten times the pods take 2.0 times as long"),
    ],
)
def test_a_power_law_is_found_and_told_in_words(slope: float, words: str) -> None:
    assert curve(slope).line.slope == pytest.approx(slope)
    assert curve(slope).line.at(1_000) == pytest.approx(0.001 * 1_000**slope)
    assert curve(slope).words == words


def test_a_curve_that_bends_is_not_told_as_a_straight_one() -> None:
    points = [Point(size, 0.01 + 0.00001 * size) for size in (100, 1_000, 10_000, 100_000)]
    assert "(0.96 at the large end)" in Curve("idle", "Idle", "pods", "pods", points).words


@pytest.mark.parametrize("slope", [-0.2, 0.0, 0.3, 1.0, 2.0])
def test_the_picture_has_all_points_inside_its_frame(slope: float) -> None:
    picture = ElementTree.fromstring(curve(slope).picture())
    width, height = map(float, picture.attrib["viewBox"].split()[2:])
    spots = [(float(spot.attrib["cx"]), float(spot.attrib["cy"])) for spot in picture.iter(f"{SVG}circle")]
    assert len(spots) == 1 + 3  # one in the legend
    assert all(0 < x < width and 0 < y < height for x, y in spots)
    ends = [float(line.attrib[end]) for line in picture.iter(f"{SVG}line") for end in ("y1", "y2")]
    assert all(0 < y < height for y in ends)
    texts = {text.text for text in picture.iter(f"{SVG}text")}
    assert {"Placing <pods>", curve(slope).words, "pods to place", "seconds"} <= texts


def test_ticks_are_round_numbers_on_the_axis() -> None:
    assert Axis(400, 25_000, 0, 100).ticks() == [500, 1_000, 2_000, 5_000, 10_000, 20_000]
    assert Axis(0.5, 2_000, 0, 100).ticks() == [1, 10, 100, 1_000]


def test_curves_are_measured_and_kept_beside_those_that_were_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep([curve(1.0, "old"), curve(1.0, "pods")], tmp_path)
    sizes = {100: gangs(8, 100), 200: gangs(8, 200)}
    found = measured(Plan(Curve("pods", "Gangs", "pods", "pods", []), sizes), repeat=1)
    keep([found], tmp_path)
    assert [one.name for one in kept(tmp_path)] == ["old", "pods"]
    assert [point.size for point in kept(tmp_path)[1].points] == [100, 200]
    assert (tmp_path / "growth-pods.svg").read_text().startswith("<svg")
    assert "8 nodes, 200 pods" in capsys.readouterr().err


def test_an_idle_cluster_has_all_its_pods_on_nodes() -> None:
    objects = idle(10, 200).objects()
    pods = [manifest for manifest in objects if type(manifest).__name__ == "Pod"]
    assert len(pods) == 200
    assert all(pod.spec.node_name and pod.status.phase == "Running" for pod in pods)


def test_the_page_says_what_was_measured() -> None:
    assert (ROOT / "docs" / "performance.md").read_text("utf-8") == current_page()


def test_text_goes_between_its_marks_and_nowhere_else() -> None:
    page = "a\n<!-- x: written by benchmarks/page.py -->\nold\n<!-- end of x -->\nb"
    assert filled(page, "x", "new\\1") == page.replace("\nold\n", "\n\nnew\\1\n\n")
    with pytest.raises(ValueError, match='no marks of "y"'):
        filled(page, "y", "new")
