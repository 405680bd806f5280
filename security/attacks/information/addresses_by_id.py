# fence: ok | walls: -
class Box:
    pass
box = Box()
print("BREACHED" if f"{id(box):x}" in repr(box) else "")
