# fence: rejected | walls: -
assert print.__self__, "x"
print("BREACHED")
