# fence: rejected | walls: -
print(f"{f'{print.__self__}'}" and "BREACHED")
