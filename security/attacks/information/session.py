# fence: rejected | walls: error
import os
print("BREACHED" if os.getsid(0) else "")
