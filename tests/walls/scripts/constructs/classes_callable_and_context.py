class Timer:
    depth = 0

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        Timer.depth += 1
        print(" " * Timer.depth + "enter", self.name)
        return self

    def __exit__(self, kind, value, trace):
        print(" " * Timer.depth + "exit", self.name, kind and kind.__name__, value)
        Timer.depth -= 1
        return isinstance(value, KeyError)


with Timer("a") as a, Timer("b") as b:
    print(a.name, b.name)
with Timer("c"):
    {}["x"]
try:
    with (
        Timer("d"),
        Timer("e"),
    ):
        raise ValueError("out")
except ValueError as error:
    print("caught", error)
