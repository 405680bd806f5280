# fence: rejected/error | walls: error
class Name(str):
    pass
os = getattr(print, Name("__self__")).__import__("os")
print("BREACHED" if os.listdir("/") else "empty")
