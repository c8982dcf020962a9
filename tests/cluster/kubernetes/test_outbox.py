"""Writes: the important ones first, only the latest of each, so many at a time."""

from __future__ import annotations

import asyncio
from functools import partial

from hekla.cluster.kubernetes import outbox as outboxes
from hekla.cluster.kubernetes.outbox import Outbox, WriteRank


async def played(outbox: Outbox) -> None:
    task = asyncio.create_task(outbox.run())
    async with asyncio.timeout(5):
        while not outbox.is_empty:
            await asyncio.sleep(0.001)
    task.cancel()


def test_binds_go_first_and_events_last_and_equals_in_their_order() -> None:
    written: list[str] = []

    async def scene() -> None:
        outbox = Outbox(1)
        for rank, key in (
            (WriteRank.EVENT, "event"),
            (WriteRank.POD, "pod"),
            (WriteRank.BIND, "first"),
            (WriteRank.BIND, "second"),
        ):

            async def write(key: str = key) -> None:
                written.append(key)

            outbox.put(rank, key, write)
        await played(outbox)

    asyncio.run(scene())
    assert written == ["first", "second", "pod", "event"]


def test_of_one_thing_only_the_latest_is_written() -> None:
    written: list[int] = []

    async def scene() -> None:
        outbox = Outbox(2)
        for number in range(3):

            async def write(number: int = number) -> None:
                written.append(number)

            outbox.put(WriteRank.POD, "pod", write)
        await played(outbox)
        assert outbox.is_empty

    asyncio.run(scene())
    assert written == [2]


def test_what_comes_while_the_same_thing_is_being_written_is_written_afterwards() -> None:
    written: list[int] = []

    async def scene() -> None:
        outbox = Outbox(2)

        async def write(number: int) -> None:
            await asyncio.sleep(0.01)
            written.append(number)

        outbox.put(WriteRank.POD, "pod", partial(write, 1))
        playing = asyncio.create_task(played(outbox))
        await asyncio.sleep(0.005)
        outbox.put(WriteRank.POD, "pod", partial(write, 2))
        outbox.put(WriteRank.POD, "pod", partial(write, 3))
        await playing

    asyncio.run(scene())
    assert written == [1, 3]


def test_no_more_than_so_many_are_under_way_and_one_that_fails_stops_nobody() -> None:
    most = [0]

    async def scene() -> None:
        outbox = Outbox(3)

        async def write() -> None:
            most[0] = max(most[0], outbox.under_way[WriteRank.POD])
            await asyncio.sleep(0.001)
            raise ValueError("unforeseen")

        for number in range(10):
            outbox.put(WriteRank.POD, str(number), write)
        await played(outbox)
        assert outbox.is_empty

    asyncio.run(scene())
    assert most == [3]


def test_events_beyond_the_limit_are_dropped_and_counted() -> None:
    async def scene() -> None:
        outbox = Outbox(1)

        async def write() -> None: ...

        for number in range(outboxes.MOST_EVENTS + 5):
            outbox.put(WriteRank.EVENT, str(number), write)
        assert outbox.dropped[WriteRank.EVENT] == 5

    asyncio.run(scene())
