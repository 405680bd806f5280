# fence: rejected | walls: error
import sys
with open("planted.py", "w") as file:
    file.write("print('BREACHED')")
sys.path.insert(0, ".")
import planted
