from enum import Enum, auto


class State(Enum):
    IDLE = auto()
    RUNNING = auto()
    DONE = auto()


TRANSITIONS = {(State.IDLE, "start"): State.RUNNING, (State.RUNNING, "finish"): State.DONE, (State.RUNNING, "stop"): State.IDLE}


class Machine:
    def __init__(self):
        self.state = State.IDLE
        self.history = []

    def handle(self, event):
        key = (self.state, event)
        if key not in TRANSITIONS:
            raise ValueError(f"{event!r} is not allowed in {self.state.name}")
        self.history.append(self.state)
        self.state = TRANSITIONS[key]
        return self


m = Machine().handle("start").handle("stop").handle("start").handle("finish")
print(m.state, [s.name for s in m.history])
try:
    m.handle("start")
except ValueError as error:
    print(error)
