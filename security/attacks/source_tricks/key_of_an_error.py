# fence: rejected | walls: -
try:
    {}["__self__"]
except KeyError as error:
    print("BREACHED" if getattr(print, error.args[0]) else "")
