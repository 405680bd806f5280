# fence: rejected | walls: -
for __builtins__ in ["BREACHED"]:
    print(__builtins__)
