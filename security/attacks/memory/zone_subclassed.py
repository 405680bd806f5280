# fence: error | walls: -
# A subclass of ZoneInfo brings the cache that the library asks for zones, and so the object that it takes for one.
from zoneinfo import ZoneInfo


class Cache:
    def get(self, key, default=None):
        return None

    def setdefault(self, key, zone):
        asked.append(zone)
        return zone


class Zone(ZoneInfo):
    pass


asked = []
Zone._weak_cache = Cache()
Zone("Europe/Berlin")
print("BREACHED" if asked else "")
