"""Tables of the names that a script may use. The policy reads them at compile time, the guards at run time.

An attribute name is one of three kinds:

    plain      nothing reachable carries anything dangerous under it: compiled to ordinary attribute access
    guarded    dangerous on some objects (`format`, `_private`, `__init__`): compiled to a call of the guard
    forbidden  leads to frames, code, globals or the class graph: refused when compiled, and by getattr()

A dunder is forbidden unless a table here names it.
"""

from __future__ import annotations

import keyword
import types
import unicodedata

# Frames, code objects and tracebacks are reached through attributes of exactly these types, so the interpreter
# itself lists the names. Names that ordinary objects have, too, are harmless: they lead nowhere without a frame.
_INNER_TYPES = (
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.FrameType,
    types.TracebackType,
    types.CodeType,
)
_ORDINARY = frozenset({"send", "throw", "close", "clear", "replace", "athrow", "aclose", "asend"})
# Names of other Python versions, so that a script means the same on all of them.
_OTHER_VERSIONS = frozenset({"gi_suspended", "f_generator", "gi_state", "cr_state", "ag_state", "cr_suspended"})
FORBIDDEN = (
    frozenset(name for kind in _INNER_TYPES for name in dir(kind) if not name.startswith("__")) - _ORDINARY
    | _OTHER_VERSIONS
)

# `str.format` walks attributes; `AttributeError.obj` and `memoryview.obj` are the underlying object; `type.mro` is
# the class graph; `ForwardRef.evaluate` evaluates source; `Pattern.groupindex` is a view of the dict that it
# matches with.
WATCHED = frozenset({"format", "format_map", "obj", "mro", "evaluate", "groupindex"})


def words(text: str) -> list[str]:
    """The words of a text: a table of names."""
    return text.split()


# Methods that operators and statements call anyway; readable on any object.
OPERATORS = frozenset(
    f"__{name}__"
    for name in words(
        "lt le eq ne gt ge hash bool str repr bytes format len length_hint iter next reversed contains "
        "getitem setitem delitem missing call enter exit aenter aexit aiter anext await int float complex "
        "index round trunc floor ceil abs neg pos invert add radd iadd sub rsub isub mul rmul imul matmul "
        "rmatmul imatmul truediv rtruediv itruediv floordiv rfloordiv ifloordiv mod rmod imod divmod rdivmod "
        "pow rpow ipow lshift rlshift ilshift rshift rrshift irshift and rand iand or ror ior xor rxor ixor "
        "sizeof"
    )
)

# Operators with an operand, which may be an object of the library where the library calls them.
WITH_OPERANDS = OPERATORS - {
    f"__{name}__"
    for name in words(
        "hash bool str repr bytes format len length_hint iter next reversed call enter exit aenter aexit aiter "
        "anext await int float complex index round trunc floor ceil abs neg pos invert sizeof getitem "
        "setitem delitem"
    )
} | {"__get__", "__set__", "__delete__"}

CONSTRUCTOR = "__new__"

# Methods that a class of a script may define.
DEFINABLE = OPERATORS | {
    "__init__", CONSTRUCTOR, "__post_init__", "__init_subclass__", "__set_name__", "__class_getitem__",
    "__getattr__", "__setattr__", "__delattr__", "__get__", "__set__", "__delete__", "__del__", "__dir__",
    "__copy__", "__deepcopy__", "__replace__", "__fspath__",
}  # fmt: skip

# Names that a class body may bind or read.
CLASS_NAMES = DEFINABLE | {"__slots__", "__match_args__", "__doc__", "__name__", "__test__"}

# Module names that scripts may use or set.
MODULE_NAMES = frozenset(
    {"__name__", "__result__", "__doc__", "__debug__", "__author__", "__version__", "__all__"}
)

# Readable through the guard; dunders.py has a reader for each.
READABLE = DEFINABLE | {
    "__name__", "__qualname__", "__doc__", "__module__", "__class__", "__dict__", "__annotations__", "__members__",
    "__dataclass_fields__", "__cause__", "__context__", "__suppress_context__", "__notes__", "__slots__",
    "__match_args__", "__mro__", "__bases__", "__subclasses__", "__wrapped__", "__total__", "__required_keys__",
    "__optional_keys__", "__type_params__", "__value__",
}  # fmt: skip

# Writable on the script's own functions and classes.
WRITABLE = frozenset({"__name__", "__qualname__", "__doc__", "__cause__", "__suppress_context__"})

# Private by spelling, public by documentation.
DOCUMENTED_PRIVATE = frozenset(
    {"_", "_asdict", "_replace", "_fields", "_make", "_field_defaults", "_value_", "_name_", "_missing_"}
)

# The tables of its members that an enumeration has. Scripts read copies.
ENUMERATION_TABLES = frozenset({"_member_map_", "_member_names_", "_value2member_map_"})


_INNARDS = "scripts do not reach into the interpreter: frames, code, globals and the class graph are closed"
_CLASSES = "isinstance(x, cls) and issubclass(a, b) tell what a class is"
_TYPES = "typing.get_origin(t) and typing.get_args(t) take a type apart"
_INSTEAD = {
    "__traceback__": "traceback.format_exc() gives the traceback as text",
    "with_traceback": "raise the error again, or raise another one from it",
    "__import__": "use an import statement",
    "__builtins__": "builtins are there by their own names",
    "__file__": "scripts have no files: read documents with kb.search(...) and fetch(...)",
    "__getattribute__": "define __getattr__, which is asked for what is missing",
    **dict.fromkeys(("__mro__", "__bases__", "__base__", "__subclasses__", "mro"), _CLASSES),
    **dict.fromkeys(("__origin__", "__args__", "__parameters__"), _TYPES),
    **dict.fromkeys(
        ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__copy__", "__deepcopy__"),
        "copy.copy and copy.deepcopy make copies",
    ),
    "__replace__": "dataclasses.replace makes a changed copy",
}


def instead(name: str, otherwise: str = _INNARDS) -> str:
    """The hint what to write in place of a refused name."""
    return _INSTEAD.get(name, otherwise)


def is_dunder(name: str) -> bool:
    """Whether the name is written ``__like_this__``."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def is_sunder(name: str) -> bool:
    """Whether the name is written ``_like_this_``, like the special names of an enumeration."""
    return len(name) > 2 and name[0] == name[-1] == "_" and name[1] != "_" and name[-2] != "_"


def is_stable(name: str) -> bool:
    """Whether Python reads the name as it is written.

    Parsing normalises source text, so that a name may become another one after it was checked: ``_＿class_＿``
    becomes ``__class__``.
    """
    return name.isascii() or unicodedata.is_normalized("NFKC", name)


def is_plain(name: str) -> bool:
    """Whether the name is harmless on every object that it is read from."""
    return not name.startswith("_") and name not in FORBIDDEN and name not in WATCHED and is_stable(name)


def is_forbidden(name: str) -> bool:
    """Whether reading the name is refused on every object."""
    return name in FORBIDDEN or (is_dunder(name) and name not in READABLE) or not is_stable(name)


def is_safe_to_generate(name: str) -> bool:
    """Whether generated source may have this name: an identifier, but no keyword, dunder or forbidden name."""
    return name.isidentifier() and not keyword.iskeyword(name) and not is_dunder(name) and not is_forbidden(name)


def mangled(name: str, class_name: str | None) -> str:
    """The name that the compiler makes of ``__private`` in a class."""
    owner = (class_name or "").lstrip("_")
    if not owner or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    return f"_{owner}{name}"
