# fence: rejected | walls: -
print("BREACHED" if "".join.__reduce__()[0] else "")
