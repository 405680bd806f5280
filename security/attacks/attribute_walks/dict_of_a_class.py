# fence: rejected | walls: -
print("BREACHED" if str.__dict__["format"] else "")
