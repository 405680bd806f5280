# fence: rejected | walls: crashed
import os, struct
body = b'{\n"out"' + b"\t\r\n " * 4_000 + b':\n"BREACHED"}'
os.write(3, struct.pack(">I", len(body)) + body)
