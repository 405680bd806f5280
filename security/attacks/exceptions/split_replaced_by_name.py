# fence: rejected | walls: -
group = ExceptionGroup("several", [ValueError("one")])
setattr(group, "split", lambda kind: (ValueError("BREACHED"), None))
try:
    raise group
except* ValueError as error:
    print(error)
