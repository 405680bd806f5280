from typing import Protocol, runtime_checkable


@runtime_checkable
class Listener(Protocol):
    def notify(self, event: str) -> None: ...


class Printer:
    def notify(self, event: str) -> None:
        print("printer", event)


class Collector:
    def __init__(self):
        self.events = []

    def notify(self, event):
        self.events.append(event)


class Bus:
    def __init__(self):
        self.listeners: list[Listener] = []

    def add(self, listener):
        if not isinstance(listener, Listener):
            raise TypeError(f"{type(listener).__name__} cannot listen")
        self.listeners.append(listener)
        return listener

    def send(self, event):
        for listener in self.listeners:
            listener.notify(event)


bus = Bus()
bus.add(Printer())
c = bus.add(Collector())
bus.send("start"); bus.send("stop")
print(c.events)
try:
    bus.add("text")
except TypeError as error:
    print(error)
