# fence: rejected | walls: -
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise ValueError
except ValueError as error:
    print("BREACHED" if error.__context__.__traceback__.tb_frame else "")
