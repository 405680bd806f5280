# fence: rejected | walls: ok
import os
print("BREACHED" if list(os.walk("/etc")) else "empty")
