"""For type checkers only: what a parameter declared in a class is when read from a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

T = TypeVar("T")


class Reads(Generic[T]):
    """With `class Train(Space): lr = Float(...)` and `config: Train`, `config.lr` is a `T` for editor and checker.

    Nothing happens at run time: configurations are not instances of the class.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type) -> T: ...
        def __get__(self, instance: object | None, owner: type) -> object: ...
