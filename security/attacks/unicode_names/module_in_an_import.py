# fence: rejected | walls: error
import 𝐨𝐬
print("BREACHED" if os.listdir("/") else "")
