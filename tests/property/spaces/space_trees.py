"""Hypothesis strategies that make spaces of every shape."""

from hypothesis import strategies as st

from shoal.spaces import Categorical, Choice, Constant, Float, Int, Node, Ordinal, Repeat, Space
from shoal.spaces.values import identity

names = st.sampled_from(["a", "b", "c", "lr", "width"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(-5, 5).map(lambda x: x + 0.0), st.text(max_size=3)
)
values = st.one_of(
    scalars,
    st.lists(scalars, max_size=2),
    st.tuples(scalars),
    st.dictionaries(st.text(max_size=2), scalars, max_size=2),
)


@st.composite
def floats(draw: st.DrawFn) -> Float:
    low = draw(st.floats(-1e6, 1e6, allow_subnormal=False))
    match draw(st.sampled_from(["linear", "log", "step", "prior"])):
        case "log":
            low = draw(st.floats(1e-8, 1e3))
            return Float(low, low * draw(st.floats(1, 1e8)), log=True)
        case "step":
            step = draw(st.sampled_from([0.1, 0.25, 0.01, 3.0]))
            first, count = draw(st.integers(-50, 50)), draw(st.integers(0, 40))
            return Float(round(first * step, 6), round((first + count) * step, 6), step=step)
        case "prior":
            return Float(low, low + 1.0, prior=low + 0.25)
    return Float(low, low + draw(st.floats(0, 1e6)))


@st.composite
def ints(draw: st.DrawFn) -> Int:
    low = draw(st.integers(-(10**20), 10**20))
    match draw(st.sampled_from(["linear", "log", "step", "prior"])):
        case "log":
            low = draw(st.integers(1, 1000))
            return Int(low, low + draw(st.integers(0, 10**9)), log=True)
        case "step":
            step = draw(st.integers(1, 10**10))
            return Int(low, low + step * draw(st.integers(0, 50)), step=step)
        case "prior":
            return Int(0, 40, prior=draw(st.integers(0, 40)))
    return Int(low, low + draw(st.integers(0, 10**25)))


def listed(make: type[Categorical] | type[Ordinal]) -> st.SearchStrategy[Node]:
    return st.lists(values, min_size=1, max_size=5, unique_by=repr).map(_distinct).map(make)


def _distinct(found: list[object]) -> list[object]:
    return list({identity(value): value for value in found}.values())


leaves: st.SearchStrategy[Node] = st.one_of(
    floats(), ints(), listed(Ordinal), listed(Categorical), values.map(Constant)
)


def records(children: st.SearchStrategy[Node], min_size: int = 0) -> st.SearchStrategy[Space]:
    return st.dictionaries(names, children, min_size=min_size, max_size=4).map(lambda nodes: Space(**nodes))


def _grow(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    options = st.dictionaries(st.sampled_from(["x", "y", "z"]), st.one_of(st.none(), records(children)), min_size=1)
    repeats = st.builds(
        lambda node, low, more: Repeat(node, low, max(low + more, 1)), children, st.integers(0, 2), st.integers(0, 2)
    )
    return st.one_of(records(children), options.map(lambda found: Choice(**found)), repeats)


nodes: st.SearchStrategy[Node] = st.recursive(leaves, _grow, max_leaves=12)
spaces = records(nodes, min_size=1)
