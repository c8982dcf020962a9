"""What can go wrong, as a tree.

HeklaError            anything hekla raises on purpose; the CLI prints it without a traceback
├── InputError        a file, manifest or argument the user gave cannot be used
│   └── ConfError     a scheduler configuration is wrong
├── ClusterError      the cluster refused something, or gave no answer
├── PluginError       a plugin or action broke its contract
└── BrokenPromise     an invariant of the engine does not hold: a bug in hekla
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
