# fence: rejected | walls: ok
def super():
    print("BREACHED")
class A:
    def f(self):
        super()
A().f()
