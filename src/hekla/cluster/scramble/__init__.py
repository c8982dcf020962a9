"""Scramble: the same cluster under other names, for readers who may see its shape and not its names.

kinds     what the fields of each kind hold; all objects, renamed
fields    what becomes of a field, by what it holds
names     which other name each thing gets, and what keeps its own

A scheduler decides on the scrambled cluster as on the real one, up to names.
"""

from hekla.cluster.scramble.kinds import RULES, scramble
from hekla.cluster.scramble.names import ScrambledNames

__all__ = ["RULES", "ScrambledNames", "scramble"]
