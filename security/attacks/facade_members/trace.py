# fence: rejected | walls: -
import sys
found = []
sys.settrace(lambda frame, event, argument: found.append(frame))
def own():
    pass
own()
sys.settrace(None)
print("BREACHED" if found[0].f_back else "")
