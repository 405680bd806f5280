import contextlib
from contextlib import AbstractContextManager, ContextDecorator, ExitStack, closing, contextmanager, nullcontext, suppress


@contextmanager
def tag(name, *, swallow=False):
    print(f"<{name}>")
    try:
        yield {"name": name}
    except ValueError as error:
        print("saw", error)
        if not swallow:
            raise
    else:
        print("fine", name)
    finally:
        print(f"</{name}>")


class Traced(ContextDecorator):
    def __enter__(self):
        print("begin")
        return self

    def __exit__(self, *error):
        print("end", error[0])
        return False


class Resource(AbstractContextManager):
    def __exit__(self, kind, value, trace):
        print("released", kind is None)

    def close(self):
        print("close called")


with tag("a") as a:
    print(a)
with tag("b", swallow=True):
    raise ValueError("v")
try:
    with tag("c"):
        raise ValueError("w")
except ValueError as error:
    print("outside", error)


@Traced()
def work():
    print("working")


work()
with closing(Resource()) as r, Resource(), nullcontext(5) as five:
    print(type(r).__name__, five)
with suppress(KeyError, IndexError):
    [][0]
print("after")
with ExitStack() as stack:
    names = [stack.enter_context(tag(n))["name"] for n in "xy"]
    stack.callback(print, "callback", 1, sep="-")
    print(names)
    kept = stack.pop_all()
print("stack is empty")
kept.close()


@contextmanager
def broken():
    if False:
        yield


try:
    with broken():
        pass
except RuntimeError as error:
    print(error)
@tag("deco")
def decorated():
    return "ran"
print(decorated())
