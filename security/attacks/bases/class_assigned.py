# fence: rejected | walls: -
class A:
    word = ""
class B:
    word = "BREACHED"
a = A()
a.__class__ = B
print(a.word)
