# fence: rejected | walls: error
from client_sdk import graph
def relations():
    frame = here.gi_frame.f_back
    os = frame.f_builtins["__import__"]("os")
    print("BREACHED" if os.listdir("/") else "empty")
    yield "MENTIONS"
here = relations()
graph.expand("Pod", types=here)
