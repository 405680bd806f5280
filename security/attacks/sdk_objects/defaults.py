# fence: rejected | walls: -
import client_sdk
client_sdk.fetch.__defaults__ = ("BREACHED",)
print(client_sdk.fetch.__defaults__[0])
