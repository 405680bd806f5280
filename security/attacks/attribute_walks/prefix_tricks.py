# fence: rejected | walls: -
class A_:
    def walk(self):
        return ().__class__.__base__
class _:
    def walk(self):
        return self.__class__.__base__.__subclasses__
print("BREACHED" if A_().walk() and _().walk()() is not None else "")
