# fence: rejected | walls: -
def super():
    print("BREACHED")
class A:
    def f(self):
        super()
A().f()
