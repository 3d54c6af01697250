"""Rules: recorded once, stored as data, honoured by everything that produces configurations."""

import json
from itertools import islice

import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.spaces import (
    Categorical,
    Choice,
    Configuration,
    Float,
    Int,
    Ordinal,
    Repeat,
    Space,
    constraint,
    count,
    forbid,
    maximum,
    minimum,
    require,
)  # fmt: skip


def draws(space: Space, number: int = 200, seed: int = 0) -> list[Configuration]:
    rng = np.random.default_rng(seed)
    return [space.sample(rng) for _ in range(number)]


LAYERS = Space(
    lr=Float(0, 1),
    optimizer=Choice(sgd=Space(momentum=Float(0, 1)), adam=None),
    layers=Repeat(Space(width=Int(1, 64), op=Choice(conv=Space(kernel=Ordinal([1, 3, 5])), pool=None)), 1, 4),
    size=Ordinal(["small", "medium", "large"]),
    flag=Categorical([True, False]),
)
CONFIG = LAYERS.validate(
    {
        "lr": 0.5,
        "optimizer": "adam",
        "layers": [{"width": 8, "op": {"conv": {"kernel": 3}}}, {"width": 16, "op": "pool"}],
        "size": "medium",
        "flag": True,
    }
)


@pytest.mark.parametrize(
    ("condition", "text", "holds"),
    [
        (lambda s: s.lr > 0.3, "lr > 0.3", True),
        (lambda s: (s.lr > 0.3) & (s.lr < 0.4), "(lr > 0.3) & (lr < 0.4)", False),
        (lambda s: (s.lr > 0.6) | ~(s.lr >= 0.6), "(lr > 0.6) | ~(lr >= 0.6)", True),
        (lambda s: 2 * s.lr + 1 <= 2.0, "((2 * lr) + 1) <= 2.0", True),
        (lambda s: (1 - s.lr) / 2 == 0.25, "((1 - lr) / 2) == 0.25", True),
        (lambda s: -abs(s.lr - 1) ** 2 == -0.25, "-(abs(lr - 1) ** 2) == -0.25", True),
        (lambda s: s.layers.count % 2 == 0, "(count(layers) % 2) == 0", True),
        (lambda s: count(s.layers) // 2 != 1, "~((count(layers) // 2) == 1)", False),
        (lambda s: minimum(s.lr, 0.1) < maximum(s.lr, 0.9), "minimum(lr, 0.1) < maximum(lr, 0.9)", True),
        (lambda s: s.optimizer == "adam", "optimizer == 'adam'", True),
        (lambda s: s.optimizer.isin(["sgd"]), "optimizer == 'sgd'", False),
        (lambda s: s.size.isin(["small", "large"]), "size.isin(['small', 'large'])", False),
        (lambda s: s.size >= "medium", "size >= 'medium'", True),
        (lambda s: s.flag, "flag", True),
        (lambda s: s.layers[0].width * 2 == s.layers[-1].width, "(layers[0].width * 2) == layers[-1].width", True),
        (lambda s: s.layers.nondecreasing("width"), "layers.nondecreasing('width')", True),
        (lambda s: s.layers.strictly_increasing("width"), "layers.strictly_increasing('width')", True),
        (lambda s: s.layers.nonincreasing("width"), "layers.nonincreasing('width')", False),
        (lambda s: s.layers.strictly_decreasing("width"), "layers.strictly_decreasing('width')", False),
        (lambda s: s.layers.sum("width") == 24, "layers.sum('width') == 24", True),
        (lambda s: s.layers.min("width") * s.layers.max("width") == 128,
         "(layers.min('width') * layers.max('width')) == 128", True),
        (lambda s: s.layers.sum("op.kernel") == 3, "layers.sum('op.kernel') == 3", True),
        (lambda s: s.layers.all(lambda e: e.width < 16), "layers.all(e1: e1.width < 16)", False),
        (lambda s: s.layers.any(lambda e: (e.op == "pool") & (e.width > 10 * s.lr)),
         "layers.any(e1: (e1.op == 'pool') & (e1.width > (10 * lr)))", True),
        (lambda s: s["lr"] > 0.1, "lr > 0.1", True),
    ],
)  # fmt: skip
def test_conditions_print_as_written_and_evaluate_after_a_round_trip(condition: object, text: str, holds: bool) -> None:
    required = Space(rules=[require(condition)], **LAYERS.nodes)  # type: ignore[arg-type]
    assert repr(required.rules[0]) == f"require({text})"
    assert (required.violations(CONFIG) == []) is holds
    again = Space.from_json(json.loads(json.dumps(required.to_json())))
    assert again == required and (again.violations(CONFIG) == []) is holds
    forbidden = Space(rules=[forbid(condition)], **LAYERS.nodes)  # type: ignore[arg-type]
    assert (forbidden.violations(CONFIG) == []) is not holds


@pytest.mark.parametrize(
    "condition",
    [
        lambda s: s.optimizer.momentum < 0.0,
        lambda s: (s.lr > 5) & (s.optimizer.momentum < 0.5),
        lambda s: s.layers[3].width == 1,
    ],
)
def test_a_rule_that_reads_an_inactive_parameter_does_not_apply(condition: object) -> None:
    assert Space(rules=[require(condition)], **LAYERS.nodes).violations(CONFIG) == []  # type: ignore[arg-type]
    assert Space(rules=[forbid(condition)], **LAYERS.nodes).violations(CONFIG) == []  # type: ignore[arg-type]


def test_a_condition_without_a_value_lets_nothing_through() -> None:
    space = Space(a=Int(0, 1), rules=[require(lambda s: 1 / s.a < 5)])
    assert {config.a for config in draws(space, 20)} == {1}


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (lambda s: s.lr > 0.1 and s.lr < 0.2, "& | ~"),
        (lambda s: 0.1 < s.lr < 0.2, "(a < b) & (b < c)"),
        (lambda s: min(s.lr, 0.2) < 1, "minimum/maximum"),
        (lambda s: len(s.layers) > 1, "count(layers)"),
        (lambda s: sum(e.width for e in s.layers) > 3, ".sum("),
        (lambda s: s.optimiser == "adam", "Did you mean 'optimizer'?"),
        (lambda s: s.optimizer == "adm", "Did you mean 'adam'?"),
        (lambda s: s.optimizer.momentun > 1, "Did you mean 'momentum'?"),
        (lambda s: s.layers.nondecreasing("widht"), "Did you mean 'width'?"),
        (lambda s: s.size == "tiny", "not one of its values"),
        (lambda s: s.size > "tiny", "not one of its values"),
        (lambda s: s.flag == 1, "not one of its values"),
        (lambda s: s.optimizer > "adam", "have no order"),
        (lambda s: s.size * 2 > 1, "not all numbers"),
        (lambda s: True, "returned True"),
        (lambda s: s.layers, "not a comparison"),
        (lambda s: (s.lr > 1) & 3, "not a comparison"),
    ],
)
def test_mistakes_in_a_rule_are_explained_at_definition(rule: object, named: str) -> None:
    with pytest.raises(SpaceError) as error:
        Space(rules=[forbid(rule)], **LAYERS.nodes)  # type: ignore[arg-type]
    assert named in str(error.value)


def test_T11_nothing_emits_a_forbidden_pair_and_a_forbidden_default_has_its_own_message() -> None:
    rule = forbid(lambda s: (s.a == 1) & (s.b == 5))
    space = Space(a=Int(1, 3), b=Int(4, 6), rules=[rule])
    assert all((c.a, c.b) != (1, 5) for c in draws(space, 500))
    assert space.count(100) == 8 == len(list(space.grid(1)))
    with pytest.raises(SpaceError, match=r"The default .* is forbidden by forbid\(\(a == 1\) & \(b == 5\)\)"):
        Space(a=Int(1, 3, default=1), b=Int(4, 6, default=5), rules=[rule])
    open_b = Space(a=Int(1, 3, default=1), b=Int(4, 6), rules=[rule]).default()
    assert open_b is not None and open_b.a == 1 and open_b.b != 5


def test_T12_rules_hold_after_rounding() -> None:
    ints = Space(p1=Int(1, 10), p2=Int(1, 10), p3=Int(1, 10), rules=[require(lambda s: s.p1 + s.p2 + s.p3 <= 10)])
    assert all(sum(c.values()) <= 10 for c in draws(ints))
    stepped = Space(p1=Float(0, 1, step=0.01), p2=Float(0, 1, step=0.01), rules=[require(lambda s: s.p1 <= s.p2)])
    for config in draws(stepped):
        assert config.p1 <= config.p2
        assert all(len(repr(value)) <= 4 for value in config.values())


def test_T14_a_bound_that_depends_on_another_parameter_holds() -> None:
    space = Space(x=Float(0, 5), y=Float(0, 10), rules=[require(lambda s: s.y >= s.x)])
    assert all(c.y >= c.x for c in draws(space))
    rng = np.random.default_rng(0)
    for _ in range(50):
        outside = space.from_flat({"x": 5 * rng.random(), "y": 0.0})
        near = space.repair(outside, rng)
        assert near.y >= near.x


def test_repair_leaves_a_valid_configuration_alone_and_moves_little() -> None:
    space = Space(
        a=Int(1, 9), b=Int(1, 9), c=Float(0, 1), o=Choice(x=Space(d=Int(1, 9)), y=None),
        rules=[require(lambda s: s.a < s.b), forbid(lambda s: (s.o.d > 4) & (s.a > 2))],
    )  # fmt: skip
    rng = np.random.default_rng(0)
    valid = space.sample(rng)
    assert space.repair(valid, rng) is valid
    broken = space.from_flat({"a": 9, "b": 1, "c": 0.25, "o": "x", "o.d": 3})
    fixed = space.repair(broken, rng)
    assert space.violations(broken) == ["require(a < b)"] and space.violations(fixed) == []
    assert fixed.c == 0.25, "a parameter no broken rule speaks of stays"


def test_rules_of_sub_spaces_speak_of_their_own_parameters() -> None:
    block = Space(inner=Int(1, 9), outer=Int(1, 9), rules=[require(lambda s: s.inner < s.outer)])
    space = Space(blocks=Repeat(block, 1, 3), o=Choice(b=block, none=None))
    for config in draws(space, 100):
        assert all(b.inner < b.outer for b in config.blocks)
        assert config.o == "none" or config.o.inner < config.o.outer
    bad = space.from_flat({"blocks": 1, "blocks[0].inner": 3, "blocks[0].outer": 2, "o": "none"})
    assert space.violations(bad) == ["blocks[0]: require(inner < outer)"]
    assert space.violations(space.repair(bad, np.random.default_rng(0))) == []
    with pytest.raises(SpaceError, match=r"breaks blocks\[0\]: require"):
        space.validate(bad)


def test_rules_about_one_finite_parameter_mask_it_before_any_draw() -> None:
    space = Space(a=Int(0, 999), rules=[require(lambda s: (s.a == 123) | (s.a == 456))])
    assert {config.a for config in draws(space, 30)} == {123, 456}
    assert space.all_decisions()[0].allowed == (123, 456)
    assert [config.a for config in islice(space.grid(1), 5)] == [123, 456]


def test_a_mask_does_not_bend_a_log_scale() -> None:
    space = Space(n=Int(1, 100, log=True), rules=[forbid(lambda s: s.n == 50)])
    values = [config.n for config in draws(space, 600)]
    assert 50 not in values and space.all_decisions()[0].allowed is None
    assert 7 < float(np.median(values)) < 14, "the median of the log scale is 10, of a uniform draw 50"
    with pytest.raises(SpaceError, match="leaves no value of 'n'"):
        Space(n=Int(1, 100, log=True), rules=[require(lambda s: s.n > 100)])


def test_parameters_that_no_rule_ties_together_are_drawn_for_themselves() -> None:
    pair = Space(a=Int(1, 9), b=Int(1, 9), rules=[require(lambda s: s.a < s.b)])
    space = Space(
        a=Int(1, 9), free=Float(0, 1), b=Int(1, 9), c=Int(1, 9), inner=pair, d=Int(1, 9), e=Int(1, 9),
        rules=[require(lambda s: s.a < s.b), forbid(lambda s: s.inner.a == s.c), require(lambda s: s.d < s.e)],
    )  # fmt: skip
    assert [group.names for group in space.groups] == [("a", "b"), ("free",), ("c", "inner"), ("d", "e")]
    config = space.sample(np.random.default_rng(0))
    assert list(config) == list(space.nodes) and space.violations(config) == []


def test_opaque_constraints_are_stored_marked_and_never_called_here() -> None:
    space = Space(a=Int(1, 2), rules=[constraint("checks:never_imported")])
    assert repr(space.constraints) == "(constraint('checks:never_imported'),)"
    assert Space.from_json(space.to_json()) == space and space.sample(np.random.default_rng(0)).a in (1, 2)
    with pytest.raises(SpaceError, match="module:function"):
        constraint("no colon")
