# fence: rejected | walls: -
class A:
    def __getattribute__(self, name):
        print("BREACHED")
A().x
