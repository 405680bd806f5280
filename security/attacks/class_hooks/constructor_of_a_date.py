# fence: error | walls: -
# What the constructor of a date makes is a date to the code in C: it would write into it, and take a number for an object.
from datetime import datetime, timedelta, tzinfo


class Moment(datetime):
    ready = False

    def __new__(cls, *given, **named):
        return "no date" if cls.ready else super().__new__(cls, *given, **named)


class Zone(tzinfo):
    def utcoffset(self, moment):
        return timedelta(hours=1)

    def dst(self, moment):
        if moment == "no date":
            print("BREACHED")
            raise SystemExit
        return timedelta(hours=1)


moment = Moment(2000, 1, 1, tzinfo=Zone())
Moment.ready = True
print(moment.tzinfo.fromutc(moment))
