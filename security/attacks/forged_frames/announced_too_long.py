# fence: rejected | walls: crashed
import os, struct
os.write(3, struct.pack(">I", 1_000_000_000) + b'"BREACHED"')
