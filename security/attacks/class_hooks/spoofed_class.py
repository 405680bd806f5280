# fence: rejected | walls: -
class A:
    @property
    def __class__(self):
        return int
print("BREACHED" if isinstance(A(), int) else "no")
