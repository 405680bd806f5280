# fence: error | walls: error
import asyncio
os = asyncio.base_events.os
print("BREACHED" if os.listdir("/") else "empty")
