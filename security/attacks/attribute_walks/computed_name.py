# fence: rejected | walls: error
name = "__sub" + "classes__"
os = None
for cls in getattr(object, name)():
    if cls.__name__ == "_wrap_close":
        os = getattr(cls.close, "__glo" + "bals__")["sys"].modules["os"]
print("BREACHED" if os.listdir("/") else "empty")
