# fence: rejected/error | walls: error
import io
print("BREACHED" if io.open_code("/etc/passwd").read() else "empty")
