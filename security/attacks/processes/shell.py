# fence: rejected | walls: ok/error
import os
print("BREACHED" if os.system("true") == 0 else "refused")
