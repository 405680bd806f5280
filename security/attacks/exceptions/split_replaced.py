# fence: rejected | walls: -
# except* calls split() of the group in C. Python up to 3.13.1 takes the answer for a tuple, whatever it is.
group = ExceptionGroup("several", [ValueError("one")])
group.split = lambda kind: (ValueError("BREACHED"), None)
try:
    raise group
except* ValueError as error:
    print(error)
