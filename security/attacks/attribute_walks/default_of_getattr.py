# fence: rejected | walls: -
found = getattr(print, "__self__", None)
print("BREACHED" if found else "")
