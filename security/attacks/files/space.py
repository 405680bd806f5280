# fence: rejected | walls: error
import os
print("BREACHED" if os.statvfs("/").f_blocks else "empty")
