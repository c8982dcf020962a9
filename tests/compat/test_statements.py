"""Every statement of the documents is held by a test, and every difference has its row in compat."""

from __future__ import annotations

import pytest
from statements import DOCUMENTS, document, problems


def test_no_statement_is_without_a_test() -> None:
    assert list(problems()) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_ids_are_unique_and_in_order(name: str) -> None:
    ids = [statement.id for statement in document(name).statements]
    assert ids == [f"{name}-{number:02d}" for number in range(1, len(ids) + 1)]
