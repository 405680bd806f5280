# fence: rejected | walls: -
def secret():
    pass
print("BREACHED" if secret.__code__.co_filename else "")
