# fence: rejected | walls: -
class A:
    word = ""
class B(A):
    word = ""
class C:
    word = "BREACHED"
class D(C):
    pass
up = super(B, B())
super.__init__(up, D, D())
print(up.word)
