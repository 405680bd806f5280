# fence: error | walls: -
from datetime import datetime, timedelta, tzinfo


class Maker:
    ready = False

    def __new__(cls, *given, **named):
        return "no date" if cls.ready else super().__new__(cls, *given, **named)


class Moment(Maker, datetime):
    pass


class Zone(tzinfo):
    def utcoffset(self, moment):
        return timedelta(hours=1)

    def dst(self, moment):
        if moment == "no date":
            print("BREACHED")
            raise SystemExit
        return timedelta(hours=1)


moment = Moment(2000, 1, 1, tzinfo=Zone())
Maker.ready = True
print(moment.tzinfo.fromutc(moment))
