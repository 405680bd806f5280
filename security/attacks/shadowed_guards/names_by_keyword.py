# fence: rejected | walls: -
def shadow(**names):
    return names
print("BREACHED" if shadow(**{"@attribute": getattr, "__builtins__": {}}) and __builtins__ else "")
