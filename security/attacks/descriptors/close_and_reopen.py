# fence: rejected | walls: error
import os
os.close(3)
print("BREACHED" if os.open("/dev/null", os.O_RDWR) == 3 else "elsewhere")
