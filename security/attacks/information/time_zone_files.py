# fence: error | walls: -
import zoneinfo
print("BREACHED" if zoneinfo.TZPATH else "")
