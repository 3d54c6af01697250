"""Which family of networks a space stands for, as data."""

from __future__ import annotations

from dataclasses import dataclass

from .values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The class that builds the networks, and what they are fed in this study.

    Attributes:
        entry_point: "module:Class".
        input_shape: one sample without the batch; None: the study did not say.
        num_classes: outputs; None: the study did not say.
    """

    entry_point: str
    input_shape: tuple[int, ...] | None = None
    num_classes: int | None = None

    @property
    def module(self) -> str:
        return self.entry_point.partition(":")[0]

    @property
    def knows_its_input(self) -> bool:
        """Is the input that costs are estimated for the one that will be trained on? A user's own class declares it,
        shoal's families only assume one."""
        return self.input_shape is not None or not self.module.startswith("shoal.")

    def to_json(self) -> Json:
        told = {"input_shape": self.input_shape and list(self.input_shape), "num_classes": self.num_classes}
        return {"entry_point": self.entry_point, **{name: value for name, value in told.items() if value is not None}}

    @classmethod
    def from_json(cls, body: Json) -> Family:
        shape = body.get("input_shape")
        return cls(
            entry_point=body["entry_point"],
            input_shape=None if shape is None else tuple(shape),
            num_classes=body.get("num_classes"),
        )
