# fence: rejected | walls: error
from client_sdk import kb
def passages():
    frame = here.gi_frame.f_back
    os = frame.f_builtins["__import__"]("os")
    print("BREACHED" if os.listdir("/") else "empty")
    yield "a"
here = passages()
kb.extract_evidence("which rule", here)
