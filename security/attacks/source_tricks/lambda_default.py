# fence: rejected | walls: -
print((lambda found=print.__self__: "BREACHED" if found else "")())
