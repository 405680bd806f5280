# fence: rejected | walls: error
try:
    1 / 0
except ZeroDivisionError as error:
    os = error.__traceback__.tb_frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
