# fence: rejected | walls: -
import sys
sys.excepthook = lambda *error: print("BREACHED")
raise ValueError
