import typing as t
from typing import TYPE_CHECKING, Annotated, Any, Literal, assert_never, cast, get_args, get_origin

if TYPE_CHECKING:
    from pandas import DataFrame

Mode = Literal["ids", "full"]
print(get_args(Mode), get_origin(list[int]), get_args(dict[str, int]), t.Optional[int], get_origin(Annotated[int, "x"]), Any)


def use(mode: Mode) -> "DataFrame":
    if mode not in get_args(Mode):
        raise ValueError(f"mode must be one of {get_args(Mode)}")
    return mode


print(use("ids"), cast("int", "x"))
try:
    use("nope")
except ValueError as error:
    print(error)
try:
    assert_never("x")
except AssertionError as error:
    print(str(error)[:20])
