# fence: rejected | walls: -
import client_sdk
print("BREACHED" if client_sdk.fetch.__globals__ else "")
