# fence: rejected | walls: -
try:
    raise ValueError("BREACHED")
except ValueError as __builtins__:
    print(__builtins__)
