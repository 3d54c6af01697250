"""Whatever define-by-run trials were told, the space inferred from them holds them."""

from hypothesis import given
from hypothesis import strategies as st

from shoal.search.strategies.inferred_space import inferred_space
from shoal.spaces import Categorical, Float, Int

DOMAINS = {
    "optimizer": Categorical(range(3)),
    "momentum": Float(0.0, 1.0),
    "damping": Float(0.0, 1.0),
    "any name!": Int(1, 9),
}


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_every_set_of_trials_gives_a_space_that_holds_them(drawn: list[tuple[int, bool, bool]]):
    trials = []
    for optimizer, has_momentum, has_damping in drawn:
        params: dict[str, float] = {"optimizer": optimizer, "any name!": 2}
        params |= {"momentum": 0.5} if has_momentum else {}
        params |= {"damping": 0.25} if has_damping else {}
        trials.append(params)
    domains = {name: DOMAINS[name] for name in DOMAINS if any(name in params for params in trials)}
    inferred = inferred_space(domains, trials)
    for params in trials:
        back = inferred.params(inferred.configuration(params))
        assert {name: back[name] for name in params} == params
