# fence: rejected | walls: error/crashed
import subprocess
print(subprocess.run(["/bin/echo", "BREACHED"], capture_output=True, text=True).stdout)
