# fence: rejected | walls: -
text = "{g.gi_frame.f_builtins[__import__]}".format_map({"g": (1 for _ in ())})
print("BREACHED" if "built-in" in text else text)
