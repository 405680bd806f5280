# fence: rejected | walls: error
Generator = type(1 for _ in ())
os = None
match (1 for _ in ()):
    case Generator(gi_frame=frame):
        os = frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
