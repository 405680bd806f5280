# fence: rejected | walls: error/crashed
import os
print(os.popen("echo BREACHED").read())
