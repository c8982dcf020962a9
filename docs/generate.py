"""Writes docs/reference/ from the code, and docs/concepts/volcano-terms.md from docs/volcano-terms.yaml.

python docs/generate.py            write the pages
python docs/generate.py --check    exit 1, and say which, where a page is not current
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from hekla.cli.main import cli
from hekla.conf import PRESETS, SWITCHES, describe_arguments
from hekla.engine.actions import BUILTIN_ACTIONS
from hekla.engine.framework import points
from hekla.engine.framework.action import Action
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import POINTS, Point, Scope, declared
from hekla.engine.plugins import BUILTIN_PLUGINS
from hekla.server.measures import MEASURES, Metric

DOCS = Path(__file__).resolve().parent
TERMS = DOCS / "volcano-terms.yaml"
NOTE = "<!-- Written by docs/generate.py from the code; change it there. -->"
HELP_WIDTH = 100


def extension_points() -> Iterator[str]:
    """Every question, its rule, its switches, and who answers it."""
    yield "# Extension points"
    yield (
        "Every question that an action may ask, and how the answers of all plugins become one. A plugin "
        "answers with a method marked `@answers(POINT)`; the points are in `hekla.engine.framework.points`. "
        "Plugins are asked tier by tier, see [tiers](../concepts/tiers.md)."
    )
    answering = answers_by_point()
    rows = [
        (f"[{point.name}](#{anchor(point.name)})", point.asks, words(name for name, _ in answering[point]))
        for point in POINTS
    ]
    yield table(("Point", "Question", "Built-in plugins that answer"), rows)
    yield "## How long an answer stays true"
    yield (
        "`predicate`, `node order` and `batch node order` are asked about all nodes at once, and their "
        "answers are kept. The second argument of `@answers` says for how long:"
    )
    yield table(("Scope", "Its answer", "Called with"), [(f"`{s.name}`", s.value, CALLED[s]) for s in Scope])
    yield (
        "`pre-predicate` takes `CLASS` as well, for objections that hold for all tasks that look alike. All "
        "other points take no scope: they are asked every time."
    )
    for point in POINTS:
        yield from point_section(point, answering[point])


CALLED = {
    Scope.ATTEMPT: "`(task)` for predicates, `(task, candidates)` for scores",
    Scope.CANDIDATES: "`(task, candidates)`, scores only",
    Scope.CLASS: "`(task)`",
    Scope.LEDGER: "`(task, states)`",
    Scope.ROW: "`(task, rows)`",
    Scope.JOB: "`(job)`, job order only",
    Scope.KIND: "`(job)`, job enqueueable only",
}


def point_section(point: Point, answers: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f"## {point.name}"
    switches = " or ".join(f"`{switch}`" for switch in point.switches) or "none: it is always on"
    yield f"{point.asks} Combined: {point.rule}."
    yield f"Constant: `{constant_of(point)}`. Switch: {switches}."
    if answers:
        yield "\n".join(f"- [{name}](plugins.md#{anchor(name)}): `{method}`" for name, method in answers)
    else:
        yield "No built-in plugin answers it."


def plugins() -> Iterator[str]:
    """Every built-in plugin: what it wants, what it can be told, what it answers."""
    yield "# Plugins"
    yield (
        "The plugins that come with hekla. A configuration puts them into tiers and gives them arguments, "
        "see [configuration](configuration.md). Plugins of your own are added by `--plugin file.py:Class`, "
        "or by the entry point group `hekla.plugins` of an installed package."
    )
    for name, plugin in sorted(BUILTIN_PLUGINS.items()):
        yield f"## {name}"
        yield from described(plugin)
        rows = [
            (f"[{point.name}](extension-points.md#{anchor(point.name)})", f"`{method}`")
            for method, point, _, _ in declared(plugin)
        ]
        if rows:
            yield table(("Answers", "With"), rows)


def actions() -> Iterator[str]:
    """Every built-in action and its arguments."""
    yield "# Actions"
    yield (
        "The steps of a cycle. They run in the order in which the configuration lists them; arguments stand "
        "under `configurations`, see [configuration](configuration.md). Actions of your own are added like "
        "plugins, by `--plugin file.py:Class` or the entry point group `hekla.actions`."
    )
    for name, action in sorted(BUILTIN_ACTIONS.items()):
        yield f"## {name}"
        yield from described(action)


def described(part: type[Plugin] | type[Action]) -> Iterator[str]:
    """The docstrings of module and class, and the arguments."""
    yield inspect.getdoc(sys.modules[part.__module__]) or ""
    # A class without words of its own inherits those of its base, which say nothing about it.
    if part.__dict__.get("__doc__"):
        yield inspect.getdoc(part) or ""
    rows = [
        (f"`{row.key}`", row.type, f"`{row.default}`", row.range, row.help)
        for row in describe_arguments(part.Arguments)
    ]
    yield table(("Argument", "Type", "Default", "Range", "Meaning"), rows) if rows else "Takes no arguments."


def configuration() -> Iterator[str]:
    """The file, its switches and the presets."""
    yield "# Configuration"
    yield FILE
    yield "## Switches"
    yield (
        "A switch of a plugin turns one kind of its opinions off. Keys are as irregular as Volcano's: one "
        "with `enable` for `enabled`, or the other way round, is a warning and changes nothing."
    )
    rows = [(f"`{s.key}`", "on" if s.default else "off", s.guards) for s in SWITCHES]
    yield table(("Switch", "Default", "Guards"), rows)
    yield "## Presets"
    yield "`--preset NAME` uses one of these, `hekla conf presets NAME` prints it."
    yield table(
        ("Preset", "What for"), [(f"[{p.name}](#{anchor(p.name)})", p.title) for p in PRESETS.values()]
    )
    for preset in PRESETS.values():
        yield f"### {preset.name}"
        yield fenced(preset.text, "yaml")


FILE = """\
The file is Volcano's `volcano-scheduler.conf`:

```yaml
actions: "enqueue, allocate, backfill"    # the steps of a cycle, in order
tiers:                                    # plugins, those of the first tier are asked first
- plugins:
  - name: gang
    enablePreemptable: false              # a switch
  - name: binpack
    arguments:                            # what the plugin can be told
      binpack.weight: 10
configurations:                           # what actions can be told
- name: allocate
  arguments:
    predicateErrorCacheEnable: true
```

A section `metrics` says where measured load comes from, see
[go by measured load](../how-to/go-by-measured-load.md). Any other key is a mistake. What Volcano rejects
is an error; what Volcano ignores silently is a warning, and an error with `--strict`. A bad value of an
argument is told and the default stays. No file means the preset `default`."""


def commands() -> Iterator[str]:
    """The help of every command."""
    yield "# Commands"
    yield (
        "Exit codes: 0 done, 1 the input cannot be used, 2 the command was called wrongly, 130 stopped by "
        "Ctrl-C. Shells can [complete](../how-to/complete-in-your-shell.md) commands, options and files."
    )
    for path, command in tree(cli, ("hekla",)):
        yield f"## {' '.join(path)}"
        context = click.Context(
            command,
            info_name=" ".join(path),
            max_content_width=HELP_WIDTH,
            terminal_width=HELP_WIDTH,
            help_option_names=["-h", "--help"],
        )
        yield fenced(command.get_help(context), "text")


def metrics() -> Iterator[str]:
    """Every metric that `hekla serve` shows."""
    yield "# Metrics"
    yield (
        "What `hekla serve` shows at `/metrics`, on the address of `--listen-address`. Names, types, labels "
        "and buckets of those that begin with `volcano_` are those of Volcano, so that dashboards go on "
        "working. Series of a job or a queue end with it. `process_*` are there as well."
    )
    yield "## As in Volcano"
    yield from metric_table("volcano_")
    yield (
        "Counts of jobs and queues are those of the last cycle. Of the controllers' metrics, the counts of "
        "PodGroups by queue are shown whether or not the controllers run here. Not shown: "
        "`volcano_namespace_*`, which Volcano declares and never sets, and the stages Watched, PreBound, "
        "PreBind, Predicate and Scoring, which are no steps of their own here."
    )
    yield "## Of hekla alone"
    yield from metric_table("hekla_")


def metric_table(prefix: str) -> Iterator[str]:
    rows = [measure_row(measure) for name, measure in MEASURES.items() if name.startswith(prefix)]
    yield table(("Metric", "Type", "Labels", "Meaning"), rows)


def measure_row(measure: Metric) -> Sequence[str]:
    kind = measure.type
    if measure.buckets:
        kind += f" of {len(measure.buckets)} buckets, {measure.buckets[0]:g} to {measure.buckets[-1]:g}"
    return f"`{measure.name}`", kind, ", ".join(measure.labels) or "-", measure.meaning


def volcano_terms() -> Iterator[str]:
    """Every name of Volcano's that people bring along, and where it went."""
    yield "# From Volcano's words to ours"
    yield (
        "Readers of Volcano's code, or of a text about it, know these names. Each has its name here, the "
        "place to import it from, and a sentence. What differs in behaviour is told in "
        "[compatibility](../compat.md); the rules of extension points are in the "
        "[reference](../reference/extension-points.md)."
    )
    for subject, terms in yaml.safe_load(TERMS.read_text("utf-8")).items():
        yield f"## {subject}"
        rows = [(cell(t["volcano"]), cell(t["ours"]), cell(t["where"]), t["says"]) for t in terms]
        yield table(("Volcano", "hekla", "Where", "Meaning"), rows)


def cell(name: str) -> str:
    """A name of code as such; words as words."""
    return f"`{name}`" if re.search("[A-Z._/]", name) else name or "-"


def tree(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, depth first."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from tree(below, (*path, name))


def answers_by_point() -> dict[Point, list[tuple[str, str]]]:
    """Plugin and method with its parameters, for each answer."""
    found: dict[Point, list[tuple[str, str]]] = {point: [] for point in POINTS}
    for name, plugin in sorted(BUILTIN_PLUGINS.items()):
        for method, point, scope, _ in declared(plugin):
            kept = "" if scope is Scope.ATTEMPT else f", {scope.name}"
            found[point].append((name, f"{method}{parameters_of(getattr(plugin, method))}{kept}"))
    return found


def parameters_of(method: Callable[..., Any]) -> str:
    signature = inspect.signature(method)
    own = [p.replace(name=p.name.lstrip("_")) for name, p in signature.parameters.items() if name != "self"]
    return str(signature.replace(parameters=own)).replace("'", "")


def constant_of(point: Point) -> str:
    return next(name for name, value in vars(points).items() if value is point)


def anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def words(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "-"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "reference/extension-points.md": extension_points,
    "reference/plugins.md": plugins,
    "reference/actions.md": actions,
    "reference/configuration.md": configuration,
    "reference/cli.md": commands,
    "reference/metrics.md": metrics,
    "concepts/volcano-terms.md": volcano_terms,
}


def page(blocks: Iterable[str]) -> str:
    return "\n\n".join([NOTE, *blocks]) + "\n"


def main() -> int:
    stale = []
    for name, blocks in PAGES.items():
        file, text = DOCS / name, page(blocks())
        if "--check" in sys.argv[1:]:
            if not file.is_file() or file.read_text("utf-8") != text:
                stale.append(name)
        else:
            file.write_text(text, "utf-8")
    for name in stale:
        print(f"docs/{name} is not current; run: python docs/generate.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
