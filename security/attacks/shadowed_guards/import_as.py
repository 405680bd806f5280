# fence: rejected | walls: ok
import json as __builtins__
print("BREACHED")
