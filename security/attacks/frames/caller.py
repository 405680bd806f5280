# fence: rejected | walls: -
import sys
print("BREACHED" if sys._getframe().f_globals else "")
