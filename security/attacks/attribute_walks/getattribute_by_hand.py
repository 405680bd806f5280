# fence: rejected | walls: -
print("BREACHED" if object.__getattribute__(print, "__self__") else "")
