# fence: rejected | walls: -
def shadow():
    global __𝗯uiltins__
    __builtins__ = {}
shadow()
print("BREACHED" if __builtins__ == {} else "")
