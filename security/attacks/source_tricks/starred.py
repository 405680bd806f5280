# fence: rejected | walls: -
print("BREACHED" if [*[print.__self__]][0] else "")
