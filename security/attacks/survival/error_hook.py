# fence: rejected | walls: error
import sys
sys.excepthook = lambda *_: print("BREACHED")
raise ValueError
