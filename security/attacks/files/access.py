# fence: rejected | walls: ok
import os
print("BREACHED" if os.access("/etc/passwd", os.R_OK) else "no")
