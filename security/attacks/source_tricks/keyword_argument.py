# fence: rejected | walls: -
print((lambda **found: "BREACHED" if found["x"] else "")(x=print.__self__))
