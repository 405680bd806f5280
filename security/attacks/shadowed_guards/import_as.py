# fence: rejected | walls: -
import json as __builtins__
print("BREACHED")
