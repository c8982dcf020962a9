"""Scramble: the same cluster under other names, for whoever may see its shape and not its names.

objects   all objects, renamed
kinds     what the fields of each kind hold
fields    what becomes of a field, by what it holds
names     which other name each thing gets, and what keeps its own

Whoever decides on the scrambled cluster decides the same, up to names.
"""

from hekla.cluster.scramble.kinds import RULES
from hekla.cluster.scramble.names import Names
from hekla.cluster.scramble.objects import scramble

__all__ = ["RULES", "Names", "scramble"]
