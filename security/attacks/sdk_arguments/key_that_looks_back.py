# fence: rejected | walls: error
import sys
from client_sdk import group_by
def key(row):
    frame = sys._getframe(1)
    os = frame.f_globals["__builtins__"]["__import__"]("os")
    print("BREACHED" if os.listdir("/") else "empty")
    return "a"
group_by([{"id": "a"}], key)
