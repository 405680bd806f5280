# fence: rejected | walls: -
def shadow(__𝖇uiltins__):
    return __builtins__
print(shadow("BREACHED"))
