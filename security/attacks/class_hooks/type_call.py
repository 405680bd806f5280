# fence: rejected | walls: -
Made = type("Made", (), {"__init__": lambda self: print("BREACHED")})
Made()
