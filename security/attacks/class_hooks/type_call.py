# fence: rejected | walls: ok
Made = type("Made", (), {"__init__": lambda self: print("BREACHED")})
Made()
