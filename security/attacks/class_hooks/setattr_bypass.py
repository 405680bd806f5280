# fence: rejected | walls: -
class A:
    pass
class B:
    pass
object.__setattr__(A(), "__class__", B)
print("BREACHED")
