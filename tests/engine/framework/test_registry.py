"""Actions and plugins from elsewhere: what is wrong with a reference is said, and what to write instead."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from pathlib import Path

import pytest

from hekla.engine.framework.action import Action
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER_REDUCE, answers
from hekla.engine.framework.registry import Registry, load_class
from hekla.engine.ledger.arrays import Floats, Mask
from hekla.engine.model.task import Task
from hekla.errors import PluginError
from hekla.scheduler.builtin import BUILTIN

GOOD = """
from hekla.engine.framework.action import Action
from hekla.engine.framework.plugin import Plugin

class Mine(Plugin):
    name = "mine"

class Step(Action):
    name = "step"

    def run(self, session):
        pass

class Idle(Action):
    name = "idle"

class NamelessStep(Step):
    name = ""

class Nameless(Plugin):
    pass

class Stranger:
    name = "stranger"

a_function = print
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plugins_from_elsewhere.py"
    path.write_text(GOOD)
    return path


def test_a_class_in_a_file_joins_the_registry(file: Path) -> None:
    registry = BUILTIN.with_named(f"{file}:Mine").with_named(f"{file}:Step")
    assert registry.plugins["mine"].name == "mine"
    assert registry.actions["step"].name == "step"
    assert set(BUILTIN.plugins) < set(registry.plugins)


def test_a_class_in_a_module_joins_too() -> None:
    assert "gang" in Registry().with_named("hekla.engine.plugins.gang:Gang").plugins


def test_a_later_one_replaces_an_earlier_one_of_the_same_name() -> None:
    class Gang(Plugin):
        name = "gang"

    assert BUILTIN.with_class(Gang).plugins["gang"] is Gang


def test_the_catalogue_names_everything_with_its_arguments() -> None:
    catalogue = BUILTIN.catalogue()
    assert set(catalogue.actions) >= {"enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle"}
    assert catalogue.plugins["binpack"] is BUILTIN.plugins["binpack"].Arguments


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("Mine", '"Mine" does not name a class; write module:Class or file.py:Class'),
        (":Mine", "does not name a class"),
        ("nowhere.py:Mine", 'no file "nowhere.py" to load a plugin from'),
        ("no.such.module:Mine", 'cannot import "no.such.module": ModuleNotFoundError'),
        ("hekla.engine.plugins.gang:Gnag", '"hekla.engine.plugins.gang" has no class "Gnag"'),
        ("hekla.engine.plugins.gang:answers", "is not a class but function"),
    ],
)
def test_a_bad_reference_is_told(reference: str, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint.replace("(", r"\(")):
        load_class(reference)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("Nameless", "has no name; give it one"),
        ("NamelessStep", "has no name; give it one"),
        ("Idle", r"plugins_from_elsewhere:Idle has no run; write what it does in run\(self, session\)$"),
        ("Stranger", "is neither a Plugin nor an Action"),
        ("a_function", "is not a class"),
        ("Missing", 'has no class "Missing"'),
    ],
)
def test_a_class_that_cannot_be_used_is_told(file: Path, name: str, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        BUILTIN.with_named(f"{file}:{name}")


OPEN = "on_open(self), and mark answers with @answers(POINT)"


@pytest.mark.parametrize(
    ("base", "there", "here"),
    [
        (Action, "Execute", "run(self, session)"),
        (Action, "Initialize", "initialize(self)"),
        (Action, "UnInitialize", "uninitialize(self)"),
        (Action, "Name", 'name = "..."'),
        (Plugin, "OnSessionOpen", OPEN),
        (Plugin, "OnSessionClose", "on_close(self)"),
        (Plugin, "Name", 'name = "..."'),
    ],
)
@pytest.mark.parametrize("has_the_rest", [True, False])
def test_a_class_written_as_for_volcano_is_told_what_to_write(
    base: type, there: str, here: str, has_the_rest: bool
) -> None:
    rest = {"name": "mine", "run": lambda _self, _session: None} if has_the_rest else {}
    mine = type("Mine", (base,), {there: lambda _self: None, **rest})
    with pytest.raises(PluginError) as refusal:
        BUILTIN.with_class(mine)
    told = f"Mine has {there}, which is Volcano's word and never called here; write {here}"
    assert str(refusal.value).endswith(told)


async def waits(_self: Action, _session: object) -> None: ...


def steps(_self: Action, _session: object) -> object:
    yield


@pytest.mark.parametrize(
    ("methods", "told"),
    [
        ({"run": waits}, "has an async run, which nothing would await; write a plain function"),
        ({"run": steps}, "has a run with yield, which nothing would go through; write a plain function"),
        (
            {"run": lambda _self, _session: None, "initialize": waits},
            "has an async initialize, which nothing would await; write a plain function",
        ),
        ({"run": abstractmethod(lambda _self, _session: None)}, "is abstract; write run"),
        ({"execute": lambda _self, _session: None}, "has no run; write what it does in run(self, session)"),
    ],
)
def test_an_action_that_would_do_nothing_is_told_what_to_write(methods: dict[str, object], told: str) -> None:
    mine = ABCMeta("Mine", (Action,), {"name": "mine", **methods})
    with pytest.raises(PluginError) as refusal:
        BUILTIN.with_class(mine)
    assert str(refusal.value).endswith(f"Mine {told}")


def test_an_action_may_call_a_method_of_its_own_execute() -> None:
    methods = {"name": "mine", "run": lambda self, _session: self.execute(), "execute": lambda _self: None}
    assert "mine" in BUILTIN.with_class(type("Mine", (Action,), methods)).actions


def test_what_comes_with_hekla_would_be_taken_from_elsewhere_too() -> None:
    registry = Registry()
    for found in (*BUILTIN.actions.values(), *BUILTIN.plugins.values()):
        registry = registry.with_class(found)
    assert registry == BUILTIN


def test_a_file_that_fails_to_import_is_told_with_its_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken_plugin.py"
    broken.write_text("raise RuntimeError('out of order')")
    with pytest.raises(PluginError, match="RuntimeError: out of order"):
        load_class(f"{broken}:Mine")


def test_a_plugin_that_normalises_scores_and_gives_none_is_refused() -> None:
    class Reducer(Plugin):
        name = "reducer"

        @answers(NODE_ORDER_REDUCE)
        def normalise(self, task: Task, scores: Floats, among: Mask) -> Floats:
            return scores

    with pytest.raises(
        PluginError, match=r"Reducer answers node order reduce, but not node order, .* NODE_ORDER too"
    ):
        BUILTIN.with_class(Reducer)


@pytest.mark.parametrize("plugin", BUILTIN.plugins.values(), ids=lambda plugin: plugin.name)
def test_a_built_in_plugin_is_found_in_the_module_of_its_name(plugin: type[Plugin]) -> None:
    module = {"numa-aware": "numaaware"}.get(plugin.name, plugin.name.replace("-", "_"))

    assert load_class(f"hekla.engine.plugins.{module}:{plugin.__name__}") is plugin
