# fence: rejected | walls: error
frame = getattr((1 for _ in ()), "gi_" + "frame")
os = frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
