# fence: rejected | walls: -
class A:
    pass
class B:
    word = "BREACHED"
class C(A):
    pass
C.__bases__ = (B,)
print(C().word)
