# fence: rejected | walls: error
import os
print("BREACHED" if os.getloadavg() else "")
