"""Reading the file: what is understood, and how each mistake is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from hekla.conf import BUILT_IN_DEFAULT, Catalogue, Conf, PluginEntry, Tier, read_conf, require
from hekla.errors import ConfError
from hekla.scheduler.builtin import BUILTIN

TIERS = "tiers:\n- plugins:\n  - name: gang\n"
GANG = (Tier((PluginEntry("gang"),)),)


@dataclass(frozen=True)
class Told:
    """A text and everything that is said about it."""

    title: str
    text: str
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.title


TOLD = [
    Told("a plain configuration is fine", 'actions: "allocate"\n' + TIERS),
    Told(
        "an unknown plugin is told with the nearest known one",
        "actions: allocate\n\ntiers:\n- plugins:\n  - name: gang\n- plugins:\n  - name: binpak\n",
        warnings=('conf.yaml:7: tiers[1].plugins[0].name: no plugin "binpak"; did you mean "binpack"?',),
    ),
    Told(
        "an unknown action is refused",
        "actions: enqueue, alocate\n" + TIERS,
        errors=('conf.yaml:1: actions: no action "alocate"; did you mean "allocate"?',),
    ),
    Told(
        "a trailing comma is refused",
        "actions: enqueue, allocate,\n" + TIERS,
        errors=("conf.yaml:1: actions: an action name is empty; is there a comma too many?",),
    ),
    Told(
        "the same mistake in the same place is told once",
        "actions: alocate, alocate,,,\n" + TIERS,
        errors=(
            'conf.yaml:1: actions: no action "alocate"; did you mean "allocate"?',
            "conf.yaml:1: actions: an action name is empty; is there a comma too many?",
        ),
    ),
    Told(
        "a file without actions is refused",
        TIERS,
        errors=('conf.yaml:1: actions: no action is named; write for example "enqueue, allocate, backfill"',),
    ),
    Told(
        "actions as a list are refused",
        "actions: [enqueue]\n" + TIERS,
        errors=('conf.yaml:1: actions: expected one text such as "enqueue, allocate, backfill", got a list',),
    ),
    Told(
        "quoted text is no switch",
        "actions: allocate\n" + TIERS + "    enablePredicate: 'false'\n",
        errors=(
            'conf.yaml:5: tiers[0].plugins[0].enablePredicate: expected true or false, got text "false"',
        ),
    ),
    Told(
        "a misspelt switch is told",
        "actions: allocate\n" + TIERS + "    enablePremptable: false\n",
        warnings=(
            'conf.yaml:5: tiers[0].plugins[0].enablePremptable: no switch "enablePremptable"; '
            'did you mean "enablePreemptable"?',
        ),
    ),
    Told(
        "unknown keys are told at every level",
        "action: x\nactions: allocate\ntiers:\n- plugin: []\n- plugins:\n  - name: gang\n    args: {}\n"
        "configurations:\n- name: allocate\n  argument: {}\n",
        warnings=(
            'conf.yaml:1: action: no key "action"; did you mean "actions"?',
            'conf.yaml:4: tiers[0].plugin: no key "plugin"; did you mean "plugins"?',
            'conf.yaml:7: tiers[1].plugins[0].args: no key "args"; did you mean "arguments"?',
            'conf.yaml:10: configurations[0].argument: no key "argument"; did you mean "arguments"?',
        ),
    ),
    Told(
        "wrong types are told at every level, with their lines",
        "actions: allocate\ntiers:\n- gang\n- plugins: gang\n- plugins:\n  - gang\n  - name: [gang]\n"
        "  - name: gang\n    arguments: 5\nconfigurations: allocate\nmetrics:\n- a\n",
        errors=(
            'conf.yaml:3: tiers[0]: expected a map, got text "gang"',
            'conf.yaml:4: tiers[1].plugins: expected a list, got text "gang"',
            'conf.yaml:6: tiers[2].plugins[0]: expected a map, got text "gang"',
            "conf.yaml:7: tiers[2].plugins[1].name: expected the name of a plugin, got a list",
            "conf.yaml:9: tiers[2].plugins[2].arguments: expected a map, got number 5",
            'conf.yaml:10: configurations: expected a list, got text "allocate"',
            "conf.yaml:11: metrics: expected a map, got a list",
        ),
        warnings=("conf.yaml:6: tiers[2].plugins[0].name: no plugin is named; this entry is dropped",),
    ),
    Told(
        "a bad argument and an unknown one are told",
        "actions: allocate\ntiers:\n- plugins:\n  - name: binpack\n    arguments:\n"
        "      binpack.cpu: -1\n      binpack.wieght: 2\n",
        warnings=(
            "conf.yaml:6: tiers[0].plugins[0].arguments.binpack.cpu: "
            "expected an integer at least 0, got number -1; the default 1 stays",
            'conf.yaml:7: tiers[0].plugins[0].arguments.binpack.wieght: no argument "binpack.wieght"; '
            'did you mean "binpack.weight"?',
        ),
    ),
    Told(
        "an argument for a plugin that takes none is told",
        "actions: allocate\n" + TIERS + "    arguments: {a: 1}\n",
        warnings=('conf.yaml:5: tiers[0].plugins[0].arguments.a: no argument "a"; it takes none',),
    ),
    Told(
        "the other name of the error cache is told",
        "actions: allocate\n" + TIERS + "configurations:\n- name: allocate\n"
        "  arguments:\n    enablePredicateErrorCache: false\n",
        warnings=(
            "conf.yaml:8: configurations[0].arguments.enablePredicateErrorCache: "
            '"enablePredicateErrorCache" is not a key that Volcano reads; '
            'write "predicateErrorCacheEnable"',
        ),
    ),
    Told(
        "a plugin twice is told, also across tiers",
        "actions: allocate\n" + TIERS + "- plugins:\n  - name: gang\n    enablePredicate: false\n",
        warnings=(
            'conf.yaml:6: tiers[1].plugins[0].name: plugin "gang" is configured already at '
            "tiers[0].plugins[0]; this entry is dropped",
        ),
    ),
    Told(
        "a second configuration of an action is told",
        "actions: allocate\n"
        + TIERS
        + "configurations:\n- name: allocate\n- name: allocate\n- name: alocate\n",
        warnings=(
            'conf.yaml:7: configurations[1].name: action "allocate" is configured already at '
            "configurations[0]; this entry is dropped",
            'conf.yaml:8: configurations[2].name: no action "alocate"; did you mean "allocate"?',
        ),
    ),
    Told(
        "a file without tiers is told",
        "actions: allocate\n",
        warnings=("conf.yaml:1: tiers: no plugins are configured; write [] if that is meant",),
    ),
    Told("an empty list of tiers is meant so", "actions: allocate\ntiers: []\n"),
    Told(
        "a key given twice is told",
        "actions: allocate\nactions: allocate\n" + TIERS,
        warnings=('conf.yaml:2: key "actions" is given twice; the last one counts',),
    ),
    Told(
        "a second document is told",
        "actions: allocate\n" + TIERS + "---\nactions: backfill\n",
        warnings=("conf.yaml:6: only the first document is read; remove the second",),
    ),
    Told(
        "a switch that Volcano does not know is told",
        "actions: allocate\n" + TIERS + "    enableOverused: true\n    enabledOverused: false\n",
        warnings=(
            'conf.yaml:5: tiers[0].plugins[0].enableOverused: no switch "enableOverused"; '
            'did you mean "enabledOverused"?',
        ),
    ),
    Told(
        "a metric must be a text",
        "actions: allocate\n" + TIERS + "metrics: {type: [a]}\n",
        errors=("conf.yaml:5: metrics.type: expected a text, got a list",),
    ),
]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("victimtasks", "; that is an extension point, which pdb, rescheduling and tdm answer"),
        ("VictimTasksFn", "; that is an extension point, which pdb, rescheduling and tdm answer"),
        ("bestNode", ""),
        ("predicate", '; did you mean "predicates"?'),
    ],
)
def test_for_the_name_of_a_point_the_plugins_that_answer_it_are_named(name: str, hint: str) -> None:
    text = f"actions: allocate\n{TIERS}  - name: {name}\n"
    _, [mistake] = read_conf(text, catalogue=BUILTIN.catalogue())
    assert mistake.message == f'no plugin "{name}"{hint}'


@pytest.mark.parametrize("story", TOLD, ids=str)
def test_every_mistake_is_told_where_it_stands(story: Told, catalogue: Catalogue) -> None:
    _, mistakes = read_conf(story.text, catalogue=catalogue)
    told = {
        severity: tuple(str(mistake) for mistake in mistakes if mistake.severity == severity)
        for severity in ("error", "warning")
    }
    assert told == {"error": story.errors, "warning": story.warnings}


UNREADABLE = [
    ("a tab", "actions:\n\tallocate", "conf.yaml:2: not YAML: found character that cannot start any token"),
    ("an open quote", "actions: 'x", "conf.yaml:1: not YAML: found unexpected end of stream"),
    ("an undefined alias", "a: *b", 'conf.yaml:1: alias "b" names nothing'),
    ("binary garbage", b"\x89PNG\r\n\x1a\n\xff", "conf.yaml:1: not a text in UTF-8"),
    ("a lone surrogate", "a: \ud800", "conf.yaml:1: not a text in UTF-8"),
    ("a zero byte", "a: \x00", "conf.yaml:1: not YAML: control characters are not allowed"),
    ("deep lists", "[" * 100_000, "conf.yaml:1: nested deeper than 32 levels"),
    ("deep maps", "{a: " * 100_000, "conf.yaml:1: nested deeper than 32 levels"),
    ("deep blocks", "- " * 100_000, "conf.yaml:1: nested deeper than 32 levels"),
    ("an alias inside itself", "a: &a [*a]", 'conf.yaml:1: alias "a" stands inside the value it names'),
    ("too many values", "a: [" + "x," * 20_000 + "]", "conf.yaml:1: more than 10000 values"),
    (
        "a chain of anchors that is deep only when followed",
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60)),
        "conf.yaml:32: nested deeper than 32 levels",
    ),
    (
        "a bomb of anchors",
        "a0: &a0 [x, x, x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 12)),
        "conf.yaml:5: more than 10000 values",
    ),
]


@pytest.mark.parametrize(("text", "message"), [row[1:] for row in UNREADABLE], ids=[r[0] for r in UNREADABLE])
def test_what_cannot_be_read_is_an_error_and_gives_the_default(text: str | bytes, message: str) -> None:
    conf, mistakes = read_conf(text)
    assert [(str(mistake), mistake.severity) for mistake in mistakes] == [(message, "error")]
    assert conf == read_conf("")[0]


@pytest.mark.parametrize(
    "text", ["null", "[]", "- a", "5", "text", "x" * 1_000_000, "!!int abc", "2024-13-45"]
)
def test_what_is_not_a_map_is_an_error_of_one_short_line(text: str) -> None:
    _, [mistake] = read_conf(text)
    assert str(mistake).startswith("conf.yaml:1: expected a map with actions, configurations, metrics, tiers")
    assert len(str(mistake)) < 200


@pytest.mark.parametrize("text", ["", "\n  \n", "# nothing yet\n", b"", "\ufeff"])
def test_an_empty_text_is_the_built_in_default_without_complaint(
    text: str | bytes, catalogue: Catalogue
) -> None:
    assert read_conf(text, catalogue=catalogue) == (read_conf(BUILT_IN_DEFAULT)[0], [])


def test_blanks_around_action_names_do_not_matter() -> None:
    conf, _ = read_conf(" actions: 'enqueue ,allocate,  backfill'\n tiers: []")
    assert conf.actions == ("enqueue", "allocate", "backfill")


@pytest.mark.parametrize("key", ["enabledJobPipelined", "enableOverused", "EnableJobOrder", "enablejoborder"])
def test_an_unknown_switch_changes_nothing(key: str) -> None:
    conf, mistakes = read_conf(f"actions: allocate\n{TIERS}    {key}: false\n")
    assert [mistake.severity for mistake in mistakes] == ["warning"]
    assert conf.plugins[0].switches == {}
    with pytest.raises(ConfError):
        require((conf, mistakes), strict=True)


def test_what_was_wrong_is_not_in_the_conf(catalogue: Catalogue) -> None:
    text = """
        actions: allocate, alocate
        tiers:
        - plugins:
          - {name: gang, enablePredicate: null}
          - {name: nonsense}
          - {name: gang, enablePredicate: false}
        - plugins:
          - name: binpack
            arguments:
              {binpack.weight: "5", binpack.cpu: 3, binpack.resources: "a, b", binpack.resources.a: 2, x: 1}
        configurations:
        - {name: allocate, arguments: {enablePredicateErrorCache: "f"}}
        - {name: allocate, arguments: {predicateErrorCacheEnable: true}}
        metrics: {type: prometheus, interval: 30, tls: true, none: null}
    """
    conf, _ = read_conf(text, catalogue=catalogue)
    binpack = {"binpack.cpu": 3, "binpack.resources": ("a", "b"), "binpack.resources.a": 2}
    assert conf == Conf(
        actions=("allocate",),
        tiers=(*GANG, Tier((PluginEntry("binpack", arguments=binpack),))),
        configurations={"allocate": {"predicateErrorCacheEnable": False}},
        metrics={"type": "prometheus", "interval": "30", "tls": "true"},
    )


def test_without_a_catalogue_names_and_arguments_are_taken_as_they_are() -> None:
    text = "actions: dance\ntiers: [{plugins: [{name: mine, arguments: {a: [1, {b: x}]}}]}]\n"
    conf, mistakes = read_conf(text)
    assert mistakes == []
    assert conf == Conf(("dance",), (Tier((PluginEntry("mine", arguments={"a": [1, {"b": "x"}]}),)),))


SCALARS = [
    ("5", 5),
    ("-5", -5),
    ("0x10", 16),
    ("5.0", 5.0),
    ("1e3", 1000.0),
    ("1.5e-3", 0.0015),
    ("yes", True),
    ("'yes'", "yes"),
    ("10:30", "10:30"),
    ("2024-01-02", "2024-01-02"),
    ("~", None),
    ("9" * 40, "9" * 40),
    ("9" * 5000, "9" * 5000),
    ("!!float x", "x"),
    ("!!bool x", "x"),
    ("!!int ''", ""),
]


@pytest.mark.parametrize(("text", "value"), SCALARS, ids=[text[:20] for text, _ in SCALARS])
def test_scalars_are_read_as_go_reads_them(text: str, value: Any) -> None:
    conf, _ = read_conf(f"actions: allocate\n{TIERS}    arguments:\n      a: {text}\n")
    assert conf.plugins[0].arguments == {"a": value}
    assert type(conf.plugins[0].arguments["a"]) is type(value)


def test_anchors_and_merges_are_followed() -> None:
    text = """
        actions: allocate
        tiers:
        - plugins:
          - &quiet {name: gang, enablePreemptable: false, enableReclaimable: false}
          - {<<: *quiet, name: drf, enableReclaimable: true}
          - {<<: [{name: pdb, enableJobOrder: false}, *quiet]}
    """
    conf, mistakes = read_conf(text)
    assert mistakes == []
    assert [(plugin.name, dict(plugin.switches)) for plugin in conf.plugins] == [
        ("gang", {"enablePreemptable": False, "enableReclaimable": False}),
        ("drf", {"enablePreemptable": False, "enableReclaimable": True}),
        ("pdb", {"enablePreemptable": False, "enableReclaimable": False, "enableJobOrder": False}),
    ]


@pytest.mark.parametrize("text", ["? [a]\n: b", "<<: 3", "<<: [3]"])
def test_odd_keys_are_errors(text: str) -> None:
    _, mistakes = read_conf(f"{text}\nactions: allocate\ntiers: []\n")
    assert [mistake.severity for mistake in mistakes] == ["error"]


class TestRequire:
    clean = f"actions: allocate\n{TIERS}"
    dubious = f"{clean}color: red\nshape: round\n"
    wrong = f"color: red\n{TIERS}actions: [allocate]\n"

    @pytest.mark.parametrize("strict", [False, True])
    def test_a_clean_conf_may_be_used(self, strict: bool) -> None:
        assert require(read_conf(self.clean), strict) == Conf(("allocate",), GANG)

    def test_warnings_stop_only_the_strict(self) -> None:
        assert require(read_conf(self.dubious), strict=False) == Conf(("allocate",), GANG)
        with pytest.raises(ConfError) as caught:
            require(read_conf(self.dubious, "my.conf"), strict=True)
        known = "known are actions, configurations, metrics, tiers"
        assert str(caught.value).splitlines() == [
            f'warning: my.conf:5: color: no key "color"; {known}',
            f'warning: my.conf:6: shape: no key "shape"; {known}',
        ]

    @pytest.mark.parametrize("strict", [False, True])
    def test_an_error_stops_everyone_and_all_mistakes_are_told(self, strict: bool) -> None:
        with pytest.raises(
            ConfError, match=r"(?s)warning: conf.yaml:1: color.*\nerror: conf.yaml:5: actions: expected"
        ):
            require(read_conf(self.wrong), strict)
