# fence: rejected | walls: -
import json as __𝐛uiltins__
print("BREACHED")
