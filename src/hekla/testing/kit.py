"""Kit: does a plugin keep its contract? `check_plugin` raises an AssertionError that says where it does not.

    from hekla.testing import check_plugin

    def test_my_plugin_keeps_its_contract() -> None:
        check_plugin(MyPlugin, arguments={"my.weight": 2})

It puts the plugin into sessions over small clusters, on its own, and asks it everything it claims
to have an answer for.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

from hekla.conf import read_arguments
from hekla.conf.arguments import Declared
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import POINTS, Scope, declared, reduces_nothing, scopes_of
from hekla.engine.framework.registry import Registry
from hekla.engine.framework.session import Session
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Manifest
from hekla.scheduler.cycle import open_session
from hekla.testing.agreement import (
    broken_concerns,
    broken_headroom,
    broken_keys,
    broken_runs,
    broken_suppositions,
)
from hekla.testing.answers import (
    GivenAnswer,
    all_answers,
    asked_about_nodes,
    check_shape,
    on_rows,
    same,
    shown,
    with_copied_arrays,
)
from hekla.testing.pods import stamped
from hekla.testing.samples import Sample, placements, samples
from hekla.testing.story import conf_of
from hekla.testing.story import plugin as plugin_entry

NAME = re.compile("[a-z][a-z0-9-]*")


def check_plugin(
    plugin: type[Plugin],
    arguments: Mapping[str, object] | None = None,
    *,
    clusters: Sequence[Sample] | None = None,
    hierarchical: bool = False,
) -> None:
    """Everything a plugin promises; the first broken promise raises an AssertionError that explains it."""
    check_declarations(plugin)
    check_arguments(plugin, arguments or {})
    for sample in samples() if clusters is None else clusters:
        trial = PluginTrial(plugin, arguments or {}, sample, hierarchical)
        check_shapes(trial)
        check_leaves_no_trace(trial)
        check_leaves_questions_alone(trial)
        check_same_answer_twice(trial)
        check_rows(trial)
        check_classes(trial)
        check_shuffled_nodes(trial)
        check_events(trial)
        check_foresight(trial)
        check_forms(trial)


@dataclasses.dataclass(frozen=True)
class PluginTrial:
    """A plugin in a cluster."""

    plugin: type[Plugin]
    arguments: Mapping[str, object]
    sample: Sample
    hierarchical: bool = False

    def session(self, order_of_nodes: Sequence[int] | None = None) -> Session:
        """A fresh session with the plugin alone in it; nodes as written, or in another order."""
        nodes = self.sample.nodes
        if order_of_nodes is not None:
            nodes = tuple(nodes[at] for at in order_of_nodes)
        objects: list[Manifest] = stamped([*self.sample.others, *nodes])
        switches = {"enableHierarchy": True} if self.hierarchical else {}
        conf = conf_of(tiers=[[plugin_entry(self.plugin.name, self.arguments, **switches)]])
        registry = Registry(plugins={self.plugin.name: self.plugin})
        return open_session(take_snapshot(objects), conf, registry=registry)

    def complain(self, message: str) -> str:
        return f'plugin "{self.plugin.name}", cluster "{self.sample.title}": {message}'


def check_declarations(plugin: type[Plugin]) -> None:
    """It has a name, and marks its answers with points that exist and scopes that make sense."""
    who = plugin.__qualname__
    assert issubclass(plugin, Plugin), f"{who} does not derive from Plugin"
    name = getattr(plugin, "name", "")
    assert name, f'{who} has no name; give it one: name = "..."'
    assert NAME.fullmatch(name), (
        f'{who}: the name "{name}" must be lower case with dashes, as it is written in a configuration file'
    )
    answers = list(declared(plugin))
    listens = plugin.on_allocate is not Plugin.on_allocate or plugin.on_release is not Plugin.on_release
    assert answers or listens or plugin.on_close is not Plugin.on_close, (
        f'plugin "{name}" answers nothing: mark a method with @answers(POINT)'
    )
    assert not reduces_nothing(plugin), (
        f'plugin "{name}" answers node order reduce, but not node order, so there is nothing to normalise'
    )
    for method, point, scope, _ in answers:
        where = f"{name}.{method}"
        assert point in POINTS, f"{where}: {point!r} is not in the table of extension points (points.POINTS)"
        allowed = scopes_of(point)
        assert scope in allowed, (
            f"{where}: {point.name} takes no scope {scope.name}"
            if len(allowed) > 1
            else f"{where}: only answers about nodes are kept; {point.name} takes no scope"
        )


def check_arguments(plugin: type[Plugin], given: Mapping[str, object]) -> None:
    """Its Arguments are a frozen dataclass, every field of which says under which key it is read."""
    name, arguments = plugin.name, plugin.Arguments
    assert dataclasses.is_dataclass(arguments), f'plugin "{name}": Arguments must be a dataclass'
    params = arguments.__dataclass_params__  # type: ignore[attr-defined]
    assert params.frozen, f'plugin "{name}": Arguments must be frozen: @dataclass(frozen=True)'
    for field in dataclasses.fields(arguments):
        assert Declared in field.metadata, (
            f'plugin "{name}": Arguments.{field.name} declares no key; write '
            f'{field.name} = argument(default, key="...", help="...")'
        )
        assert field.metadata[Declared].help, f'plugin "{name}": Arguments.{field.name} has no help text'
    mistakes = read_arguments(arguments, given, name)[1]
    assert not mistakes, f'plugin "{name}": ' + "; ".join(str(mistake) for mistake in mistakes)


def check_shapes(trial: PluginTrial) -> None:
    """Answers have the shape, the type and the range that their point asks for."""
    session = trial.session()
    for answer in all_answers(session):
        problem = check_shape(session, answer)
        assert not problem, trial.complain(f"{answer}: {problem}")


def check_leaves_no_trace(trial: PluginTrial) -> None:
    """Asking changes nothing that the plugin was shown."""
    session = trial.session()
    before = shown(session)
    for answer in all_answers(session):
        changed = [part for part, value in shown(session).items() if value != before[part]]
        assert not changed, trial.complain(
            f"{answer} changed {', '.join(changed)}: a plugin answers, it never changes what it is shown"
        )


def check_leaves_questions_alone(trial: PluginTrial) -> None:
    """Arrays that come with a question, such as which nodes are candidates, stay as they were."""
    for answer in asked_about_nodes(trial.session()):
        given = with_copied_arrays(answer.question)
        answer.ask(*given)
        assert all(map(same, given, answer.question)), trial.complain(
            f"{answer} changed an array that it was given: return another one"
        )


def check_same_answer_twice(trial: PluginTrial) -> None:
    """The same question gets the same answer, in this session and in a fresh one."""
    session = trial.session()
    first, again = _by_question(session), _by_question(session)
    afresh = _by_question(trial.session())
    for question, answer in first.items():
        assert same(answer.value, again[question].value), trial.complain(
            f"{answer}: asked twice, it answered differently the second time"
        )
        assert same(answer.value, afresh[question].value), trial.complain(
            f"{answer}: a fresh session over the same cluster got another answer"
        )


def check_rows(trial: PluginTrial) -> None:
    """An answer for some rows is those rows of the answer for all."""
    session = trial.session()
    for answer in asked_about_nodes(session):
        if answer.scope not in (Scope.ROW, Scope.LEDGER):
            continue
        for rows in trial.sample.subsets_of_rows():
            part = answer.ask_again(rows)
            assert same(part, on_rows(answer.value, rows)), trial.complain(
                f"{answer}: for rows {rows!r} it answers {part!r}, "
                f"but its answer for all nodes has {on_rows(answer.value, rows)!r} there"
            )


def check_classes(trial: PluginTrial) -> None:
    """An answer of scope CLASS or CANDIDATES does not depend on which pod is where."""
    session, lasting = trial.session(), (Scope.CLASS, Scope.CANDIDATES)
    before = {str(a): a for a in asked_about_nodes(session) if a.scope in lasting}
    for task, row, status in placements(session):
        session.put(task, row, status)
    for answer in asked_about_nodes(session):
        if str(answer) in before:
            assert same(before[str(answer)].value, answer.value), trial.complain(
                f"{answer}: its answer changed after tasks were placed, "
                f"so its scope cannot be {answer.scope.name}"
            )


def check_shuffled_nodes(trial: PluginTrial) -> None:
    """With the nodes in another order, its answers come in that order."""
    straight = {str(answer): answer for answer in asked_about_nodes(trial.session())}
    order = trial.sample.shuffled()
    for answer in asked_about_nodes(trial.session(order)):
        expected = on_rows(straight[str(answer)].value, order)
        assert same(expected, answer.value), trial.complain(
            f"{answer}: shuffling the nodes must shuffle the answer; "
            f"expected {expected!r}, got {answer.value!r}"
        )


def check_events(trial: PluginTrial) -> None:
    """Once everything placed is taken back, every answer is what it was before."""
    session = trial.session()
    before = _by_question(session)
    placed = []
    for task, row, status in placements(session):
        if session.put(task, row, status):
            placed.append(task)
    # Another order than they came in: a plugin that keeps sums does not mind.
    for task in placed[1::2] + placed[::2]:
        session.take_back(task)
    for question, answer in _by_question(session).items():
        assert same(before[question].value, answer.value), trial.complain(
            f"{answer}: after on_allocate and on_release its answer should again be "
            f"{before[question].value!r}, but it is {answer.value!r}"
        )


def check_foresight(trial: PluginTrial) -> None:
    """What it says beforehand of many tasks is what it says when they come one by one."""
    for problem in (
        *broken_suppositions(trial.session()),
        *broken_headroom(trial.session()),
        *broken_runs(trial.session),
        *broken_concerns(trial.session()),
    ):
        raise AssertionError(trial.complain(problem))


def check_forms(trial: PluginTrial) -> None:
    """What it marks as a quicker form of an answer says what the answer says."""
    for problem in broken_keys(trial.session()):
        raise AssertionError(trial.complain(problem))


def _by_question(session: Session) -> dict[str, GivenAnswer]:
    return {str(answer): answer for answer in all_answers(session)}
