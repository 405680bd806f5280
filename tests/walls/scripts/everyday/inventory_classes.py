from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from decimal import Decimal


@dataclass
class Item:
    sku: str
    price: Decimal
    stock: int = 0

    @property
    def value(self) -> Decimal:
        return self.price * self.stock


class Discount(ABC):
    @abstractmethod
    def apply(self, price: Decimal) -> Decimal: ...


class Percent(Discount):
    def __init__(self, percent: int) -> None:
        self._factor = (100 - Decimal(percent)) / 100

    def apply(self, price: Decimal) -> Decimal:
        return (price * self._factor).quantize(Decimal("0.01"))


@dataclass
class Inventory:
    items: dict[str, Item] = field(default_factory=dict)
    _log: list[str] = field(default_factory=list, repr=False)

    def add(self, item: Item) -> Inventory:
        self.items[item.sku] = item
        self._log.append(f"+{item.sku}")
        return self

    def __iadd__(self, item: Item) -> Inventory:
        return self.add(item)

    def total(self, discount: Discount | None = None) -> Decimal:
        return sum((discount.apply(i.value) if discount else i.value for i in self.items.values()), Decimal())


inv = Inventory().add(Item("a", Decimal("1.10"), 3))
inv += Item("b", Decimal("0.35"), 10)
inv.items["a"].stock -= 1
print(inv.total(), inv.total(Percent(15)), inv._log, inv)
