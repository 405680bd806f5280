# fence: rejected | walls: -
found = print. \
    __self__
print("BREACHED" if found else "")
