# fence: rejected | walls: error
import sys
from client_sdk import kb
class Passage:
    __class__ = dict
    def __contains__(self, name):
        return True
    def __getitem__(self, name):
        os = sys._getframe(1).f_builtins["__import__"]("os")
        return "BREACHED" if os.listdir("/") else "empty"
print(kb.read_excerpt(Passage()), Passage()["passage_id"])
