# fence: rejected | walls: ok
class A:
    def __getattribute__(self, name):
        print("BREACHED")
A().x
