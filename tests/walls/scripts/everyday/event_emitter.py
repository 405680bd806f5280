from collections import defaultdict
from typing import Any, Callable


class Emitter:
    def __init__(self):
        self._handlers: dict[str, list[Callable[..., Any]]] = defaultdict(list)

    def on(self, name):
        def decorate(fn):
            self._handlers[name].append(fn)
            return fn

        return decorate

    def emit(self, name, *args, **kwargs):
        return [fn(*args, **kwargs) for fn in self._handlers[name]]


events = Emitter()


@events.on("greet")
def hello(name, *, loud=False):
    return f"hello {name}".upper() if loud else f"hello {name}"


events.on("greet")(lambda name, **_: len(name))
print(events.emit("greet", "bo", loud=True), events.emit("nothing"))
