"""Without effect: settings that wait for something which nothing in the configuration provides."""

from __future__ import annotations

from collections.abc import Iterator

from hekla.conf.model import Mistake, did_you_mean, warning
from hekla.conf.questions import VICTIMS, Context
from hekla.objects.complaint import quoted
from hekla.objects.quantity import positive_seconds

ANNOTATIONS = "annotations"
SOURCES = (ANNOTATIONS, "file", "prometheus")
"""Where load may be read (`hekla.scheduler.load`); all but annotations have an address."""

USUAL_SECONDS = {"interval": 30.0, "timeout": 10.0}
"""How often load is read, and how long one answer may take (`hekla.scheduler.load`)."""

BUILT_IN_ACTIONS = frozenset(
    ("enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle", "gangpreempt", "gangreclaim")
)
"""Of these only allocate holds places until the cycle ends; of other actions nothing can be said."""
FEWEST_COMPARED = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
MOST_COMPARED = "maxCandidateNodesAbsolute"


def shuffle_has_victims(context: Context) -> Iterator[Mistake]:
    if "shuffle" in context.conf.actions and context.knows_all_plugins and not context.answering(VICTIMS):
        plugins = "tdm (with a revocable zone) or rescheduling"
        message = f"no plugin can name victims; add {plugins} with {VICTIMS.switch}"
        yield warning("actions", f"shuffle can never move anything: {message}")


def budgets_are_no_reason_to_move(context: Context) -> Iterator[Mistake]:
    # As in Volcano, pdb names for shuffle whatever a budget does not forbid to evict.
    names = [name for tier in context.answering(VICTIMS).values() for name in tier]
    if "shuffle" in context.conf.actions and "pdb" in names:
        message = (
            "shuffle evicts every running pod with labels that no disruption budget keeps, whatever other "
            "plugins name; set enabledVictim: false for pdb, unless that is meant"
        )
        yield warning(context.of_plugin.get("pdb", "tiers"), message)


def load_has_a_source(context: Context) -> Iterator[Mistake]:
    if context.conf.metrics:
        return
    for name in sorted(context.plugins):
        if context.reads_load(name):
            message = (
                f"{name} goes by measured load, and no section metrics says where to read it: "
                "only annotations of nodes count (hekla.dev/cpu-usage, hekla.dev/memory-usage); "
                "write metrics: {type: annotations} if these are meant"
            )
            yield warning(context.of_plugin.get(name, "tiers"), message)


def sources_can_be_read(context: Context) -> Iterator[Mistake]:
    metrics = context.conf.metrics
    kind, has_address = metrics.get("type", ANNOTATIONS), bool(metrics.get("address"))
    if kind not in SOURCES:
        hint = did_you_mean(kind, SOURCES)
        yield warning("metrics.type", f"no source of load {quoted(kind)}{hint}; no load is known")
    elif kind != ANNOTATIONS and not has_address:
        yield warning("metrics", f"type {kind} needs an address; without one no load is known")
    elif "type" not in metrics and has_address:
        yield warning("metrics.address", "not read without a type; write type: prometheus or type: file")


def preempt_compares_nodes(context: Context) -> Iterator[Mistake]:
    arguments = context.conf.arguments_of("preempt")
    if "preempt" not in context.conf.actions or arguments.get("enableTopologyAwarePreemption") is not True:
        return
    none = [key for key in (*FEWEST_COMPARED, MOST_COMPARED) if _is_none(arguments.get(key))]
    if MOST_COMPARED in none or set(FEWEST_COMPARED) <= set(none):
        named = " and ".join(f"{key}: {arguments[key]}" for key in none)
        message = f"preempt compares no nodes with {named}, and so never evicts; write a number above 0"
        yield warning(context.of_configuration.get("preempt", "configurations"), message)


def _is_none(count: object) -> bool:
    return isinstance(count, int) and count <= 0


def times_can_be_read(context: Context) -> Iterator[Mistake]:
    for key, usual in USUAL_SECONDS.items():
        text = context.conf.metrics.get(key)
        if text is not None and positive_seconds(text) is None:
            message = f'{quoted(text)} is no time to wait; {usual:g}s counts; write it like "90s" or "1m30s"'
            yield warning(f"metrics.{key}", message)


def reserved_room_is_there(context: Context) -> Iterator[Mistake]:
    conf = context.conf
    is_on = conf.arguments_of("backfill").get("kubeBatchBackfillEnable") is True
    if not is_on or "backfill" not in conf.actions:
        return
    last = len(conf.actions) - 1 - conf.actions[::-1].index("backfill")
    before = conf.actions[:last]
    if set(before) <= BUILT_IN_ACTIONS and (
        lack := _lack_of_room(context, has_allocate="allocate" in before)
    ):
        yield warning(context.of_configuration.get("backfill", "configurations"), lack)


def _lack_of_room(context: Context, *, has_allocate: bool) -> str:
    """Why kubeBatchBackfillEnable gives away less than one may think; empty where it does not."""
    allocate = context.conf.arguments_of("allocate")
    if not has_allocate:
        return "kubeBatchBackfillEnable has nothing to give: allocate, which holds it, does not run before"
    if allocate.get("unreadyPolicy") == "hold":
        return ""
    remedy = "set unreadyPolicy: hold for allocate, so that places of jobs that cannot start are held"
    if allocate.get("onPipelined", "keep") == "keep":
        gives = "gives nothing but places of jobs that wait for pods on their way out: no other place is held"
    else:
        gives = "has nothing to give: nothing is held"
    return f"kubeBatchBackfillEnable {gives}; {remedy}"
