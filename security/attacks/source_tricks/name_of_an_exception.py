# fence: rejected | walls: -
try:
    undefined
except NameError as error:
    print("BREACHED" if getattr(print, error.name.replace("undefined", "__self__")) else "")
