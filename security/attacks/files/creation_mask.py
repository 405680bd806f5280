# fence: rejected | walls: error
import os
print("BREACHED" if os.umask(0) >= 0 else "refused")
