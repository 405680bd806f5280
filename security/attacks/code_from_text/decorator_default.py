# fence: rejected | walls: error
def validated(x=__import__("os").listdir("/")):
    return x
print("BREACHED" if validated() else "")
