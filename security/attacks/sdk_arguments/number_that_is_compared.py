# fence: rejected | walls: error
import sys
from client_sdk import kb
class Number(int):
    def __ne__(self, other):
        frame = sys._getframe(1)
        os = frame.f_globals["__builtins__"]["__import__"]("os")
        print("BREACHED" if os.listdir("/") else "empty")
        return True
kb.search("which rule", max_per_doc=Number(3))
