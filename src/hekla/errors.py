"""What can go wrong, as a tree.

HeklaError            anything hekla raises on purpose; the CLI prints it without a traceback
├── InputError        a file, manifest or argument the user gave cannot be used
│   └── ConfError     a scheduler configuration is wrong
├── ClusterError      the cluster refused something, or gave no answer
├── PluginError       a plugin or action broke its contract
├── BrokenPromise     an invariant of the engine does not hold: a bug in hekla
└── GaveUp            a process that runs for ever cannot do its work any more, and ends
"""

from __future__ import annotations


class HeklaError(Exception):
    """Says what is wrong, where, what was expected and what to try; lower case, no full stop."""


class InputError(HeklaError):
    """The user's input cannot be used."""


class ConfError(InputError):
    """A scheduler configuration cannot be used."""


class ClusterError(HeklaError):
    """The cluster refused something, or gave no answer."""


class PluginError(HeklaError):
    """A plugin or an action broke its contract."""


class BrokenPromise(HeklaError):
    """An invariant of the engine does not hold; the message tells the story of the object."""


class GaveUp(HeklaError):
    """The process cannot do its work any more."""


def said_by(error: BaseException) -> str:
    """What is raised on purpose speaks for itself; of all else the kind is needed to make sense of it."""
    return str(error) if isinstance(error, HeklaError) else f"{type(error).__name__}: {error}"
