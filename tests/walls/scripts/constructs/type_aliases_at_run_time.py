from collections.abc import Callable
from typing import Annotated, Any, Dict, List, Optional, Tuple, Type, TypedDict, Union

Json = Union[None, bool, int, float, str, List["Json"], Dict[str, "Json"]]
Handler = Callable[[str], Optional[int]]
Score = Annotated[float, "0 to 1"]


def walk(value: Json, depth: int = 0) -> List[Tuple[int, str]]:
    if isinstance(value, dict):
        return [(depth, k) for k in value] + [p for v in value.values() for p in walk(v, depth + 1)]
    if isinstance(value, list):
        return [p for v in value for p in walk(v, depth + 1)]
    return []


def build(cls: Type[Any], *args: Any) -> Any:
    return cls(*args)


handler: Handler = len
numbers: "list[int]" = [1]
print(walk({"a": {"b": [1, {"c": 2}]}}), build(complex, 1, 2), handler("abc"), numbers, int | None, isinstance(3, int | str), Score)
