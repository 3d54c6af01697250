"""What can be tried: domains, choices, repeated parts, rules, and configurations drawn from them."""

from .architecture import Architecture
from .cell import Cell
from .choice import Choice
from .configuration import Chosen, Configuration
from .domain import Domain
from .float_domain import Float
from .int_domain import Int
from .json_form import node_from_json
from .listed_domains import Categorical, Constant, Ordinal
from .node import Node
from .repeat import Repeat
from .rules import Constraint, Rule, constraint, forbid, require
from .sites import Decision
from .space import Space, as_space
from .symbols import count, maximum, minimum
from .variation import Mutant, crossover, distance, mutate, mutate_unseen, neighbours

__all__ = [
    "Architecture",
    "Categorical",
    "Cell",
    "Choice",
    "Chosen",
    "Configuration",
    "Constant",
    "Constraint",
    "Decision",
    "Domain",
    "Float",
    "Int",
    "Mutant",
    "Node",
    "Ordinal",
    "Repeat",
    "Rule",
    "Space",
    "as_space",
    "constraint",
    "count",
    "crossover",
    "distance",
    "forbid",
    "maximum",
    "minimum",
    "mutate",
    "mutate_unseen",
    "neighbours",
    "node_from_json",
    "require",
]
