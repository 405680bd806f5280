# fence: error | walls: -
name = [n for n in dir(print) if n.startswith("__se")][0]
print("BREACHED" if getattr(print, name) else "")
