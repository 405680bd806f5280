# fence: rejected | walls: -
class Box:
    pass
print("BREACHED" if Box.__weakref__ is not None and Box.__dict__["__weakref__"] else "")
