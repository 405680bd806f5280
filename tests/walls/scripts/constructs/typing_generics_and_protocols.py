from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Generic, Literal, NewType, Optional, Protocol, Self, TypeAlias, TypeVar, Union, cast, overload, runtime_checkable

T = TypeVar("T")
K = TypeVar("K", bound="Comparable")
UserId = NewType("UserId", int)
Vector: TypeAlias = list[float]
LIMIT: Final = 3


class Comparable(Protocol):
    def __lt__(self, other: Any) -> bool: ...


@runtime_checkable
class Closable(Protocol):
    def close(self) -> None: ...


class File:
    def close(self) -> None:
        print("closed")


class Repository(ABC, Generic[T]):
    kinds: ClassVar[dict[str, int]] = {}

    @abstractmethod
    def get(self, key: str) -> Optional[T]: ...

    def first(self, keys: Iterable[str]) -> T | None:
        return next((found for key in keys if (found := self.get(key)) is not None), None)


class Memory(Repository[T]):
    def __init__(self, items: Mapping[str, T]) -> None:
        self._items = dict(items)

    def get(self, key: str) -> T | None:
        return self._items.get(key)

    def with_item(self, key: str, item: T) -> Self:
        self._items[key] = item
        return self


def apply(fn: Callable[[int], int], values: Iterable[int]) -> Iterator[int]:
    for value in values:
        yield fn(value)


def mode(m: Literal["r", "w"] = "r") -> Union[int, str]:
    return m


@overload
def double(x: int) -> int: ...
@overload
def double(x: str) -> str: ...
def double(x):
    return x * 2


memory: Memory[int] = Memory({"a": 1})
print(memory.first(["z", "a"]), memory.with_item("b", 2).get("b"), list(apply(lambda n: n + 1, [1, 2])))
print(isinstance(File(), Closable), isinstance(3, Closable), UserId(5), cast(str, 3), mode(), double(2), double("a"), LIMIT)
print(Repository[int], Optional[int], Union[int, str], Callable[[int], str], Literal["a"], dict[str, Vector])
try:
    Repository()
except TypeError as error:
    print(str(error).split(" with")[0])
