import traceback


class AppError(Exception):
    """Base."""

    code = 1

    def __init__(self, message, *, details=None):
        super().__init__(message)
        self.details = details or {}

    def __str__(self):
        return f"[{self.code}] {super().__str__()}"


class NotFound(AppError):
    code = 404


def find(key):
    try:
        return {"a": 1}[key]
    except KeyError as error:
        raise NotFound(f"no {key}", details={"key": key}) from error


def order():
    try:
        print("try")
        return "returned"
    except Exception:
        print("never")
    else:
        print("not reached")
    finally:
        print("finally")


try:
    find("z")
except AppError as error:
    print(error, error.details, type(error.__cause__).__name__, error.args, isinstance(error, LookupError))
print(order())
for value in ("1", "x", None, [1]):
    try:
        number = int(value)
    except ValueError as error:
        print("ValueError:", error)
    except TypeError as error:
        print("TypeError:", str(error)[:40])
    else:
        print("else", number)
    finally:
        print("done", value)
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise ValueError("second")
except ValueError as error:
    print(repr(error.__context__), error.__cause__, error.__suppress_context__)
try:
    try:
        {}["k"]
    except KeyError:
        raise RuntimeError("clean") from None
except RuntimeError as error:
    print(error.__suppress_context__, error.__cause__)


def groups():
    raise ExceptionGroup("many", [ValueError("a"), TypeError("b"), ExceptionGroup("inner", [KeyError("c"), OSError("d")])])


try:
    groups()
except* (ValueError, TypeError) as group:
    print("first", [str(e) for e in group.exceptions])
except* KeyError as group:
    print("second", group.message, group.exceptions)
except* OSError:
    print("third")
try:
    raise ExceptionGroup("g", [ValueError(1)])
except ExceptionGroup as group:
    print(group, group.subgroup(ValueError), group.split(TypeError)[0])
for raiser in (lambda: [][1], lambda: {}["k"], lambda: None.x, lambda: "a" + 1, lambda: int("z"), lambda: 1 / 0, lambda: undefined, lambda: next(iter([])), lambda: (1).real(), lambda: assert_(), lambda: "x".encode("ascii") + "y"):
    try:
        raiser()
    except Exception as error:
        print(type(error).__name__, "|", error)
try:
    assert 1 > 2, {"why": "math"}
except AssertionError as error:
    print(error.args)
error = ValueError("noted")
error.add_note("a note")
print(error.__notes__, repr(error), ValueError("a", 2).args, str(KeyError("q")), issubclass(NotFound, AppError))
try:
    raise NotFound
except TypeError as problem:
    print(problem)
try:
    raise "text"
except TypeError as problem:
    print(problem)
def reraise():
    try:
        raise ValueError("again")
    except ValueError as e:
        e.seen = True
        raise
try:
    reraise()
except ValueError as e:
    print(e.seen, e.args)
print(traceback.format_exc())
