# fence: rejected | walls: -
try:
    1 / 0
except ZeroDivisionError as first:
    trace = first.__traceback__
error = ValueError().with_traceback(trace)
print("BREACHED" if error.__traceback__.tb_lineno else "")
