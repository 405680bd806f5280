# fence: rejected | walls: -
def fail():
    1 / 0
try:
    fail()
except ZeroDivisionError as error:
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    print("BREACHED" if trace.tb_frame.f_back.f_globals else "")
