# fence: rejected | walls: -
if (__builtins__ := "BREACHED"):
    print(__builtins__)
