# fence: rejected | walls: -
try:
    del __builtins__
finally:
    print("BREACHED" if "__builtins__" not in globals() else "")
