# fence: rejected | walls: -
def shadow():
    global __builtins__
    __builtins__ = {}
shadow()
print("BREACHED" if __builtins__ == {} else "")
