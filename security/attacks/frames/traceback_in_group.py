# fence: rejected | walls: -
try:
    1 / 0
except ZeroDivisionError as error:
    group = ExceptionGroup("group", [error])
print("BREACHED" if group.exceptions[0].__traceback__.tb_frame else "")
