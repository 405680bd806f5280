# fence: rejected | walls: error
def own():
    pass
os = own.__builtins__["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
