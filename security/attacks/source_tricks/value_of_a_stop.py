# fence: rejected | walls: -
def walk():
    yield
    return "__self__"
generator = walk()
next(generator)
try:
    next(generator)
except StopIteration as stop:
    print("BREACHED" if getattr(print, stop.value) else "")
