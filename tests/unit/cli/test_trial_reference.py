"""Three spellings of a trial, since `#` starts a comment in some shells."""

import pytest

from shoal.errors import SpecError
from shoal.service.cli.trial_reference import Reference, parse, parse_trial


@pytest.mark.parametrize(("text", "number"), [("a-b.c#7", None), ("a-b.c/7", None), ("a-b.c", 7), ("a-b.c#7", 7)])
def test_a_trial(text: str, number: int | None) -> None:
    assert parse_trial(text, number) == ("a-b.c", 7)
    assert str(parse(text, number)) == "a-b.c#7"


def test_a_study() -> None:
    assert parse("digits") == Reference(study="digits")
    with pytest.raises(SpecError, match="names a study, not a trial"):
        parse_trial("digits")


@pytest.mark.parametrize(
    ("text", "number"), [("", None), ("a#", None), ("a#x", None), ("#7", None), ("a#7", 8), ("a#7#8", None)]
)
def test_neither(text: str, number: int | None) -> None:
    with pytest.raises(SpecError):
        parse(text, number)
