"""The colours of queues: apart for every kind of colour vision, and visible on their background."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from hekla.simulation.report.page import asset

# Machado, Oliveira and Fernandes (2009), full severity, in linear RGB.
VISION = {
    "all three cones": np.eye(3),
    "no long cone": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no middle cone": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "no short cone": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
SIDES = {"light": 0, "dark": 1}
FAR_ENOUGH = 14.0
"""In CIELAB; about 2 is the least that is seen at all."""


def colours(pattern: str, side: str) -> list[np.ndarray]:
    found = re.findall(rf"--{pattern}: light-dark\((#\w+), (#\w+)\)", asset("style.css"))
    return [linear(pair[SIDES[side]]) for pair in found]


def linear(text: str) -> np.ndarray:
    shown = np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)


def lab(colour: np.ndarray) -> np.ndarray:
    ratio = XYZ @ colour.clip(0, 1) / WHITE
    bent = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])])


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    dark, light = sorted((XYZ[1] @ one, XYZ[1] @ other))
    return float((light + 0.05) / (dark + 0.05))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("vision", VISION)
def test_any_two_queues_are_told_apart(side: str, vision: str) -> None:
    seen = [lab(np.array(VISION[vision]) @ colour) for colour in colours(r"c\d", side)]
    assert len(seen) == 9
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > FAR_ENOUGH


@pytest.mark.parametrize("side", SIDES)
def test_every_colour_stands_out_from_its_background(side: str) -> None:
    (card,) = colours("card", side)
    assert min(contrast(colour, card) for colour in colours(r"[cs]\d", side)) >= 3


@pytest.mark.parametrize("side", SIDES)
def test_text_is_readable(side: str) -> None:
    (card,), (page,) = colours("card", side), colours("page", side)
    for name in ("ink", "soft", "accent"):
        (text,) = colours(name, side)
        assert min(contrast(text, card), contrast(text, page)) >= 4.5
