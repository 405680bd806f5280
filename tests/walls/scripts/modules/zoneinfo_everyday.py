from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

vienna = ZoneInfo("Europe/Vienna")
meeting = datetime(2026, 3, 28, 9, 30, tzinfo=vienna)
print(meeting, meeting.utcoffset(), meeting.tzname(), meeting.dst())
print(meeting + timedelta(days=1), (meeting + timedelta(days=1)).utcoffset(), meeting.astimezone(UTC))
for name in ("America/New_York", "Asia/Tokyo", "Asia/Kolkata", "Australia/Sydney", "Pacific/Apia", "UTC", "Etc/GMT+5", "Europe/London"):
    print(name, meeting.astimezone(ZoneInfo(name)).strftime("%Y-%m-%d %H:%M %Z %z"))
print(vienna, repr(vienna), vienna.key, vienna is ZoneInfo("Europe/Vienna"), vienna == ZoneInfo("Europe/Vienna"))
print("Europe/Vienna" in available_timezones(), "Mars/Olympus" in available_timezones(), len(available_timezones()) > 400)
ambiguous = datetime(2026, 10, 25, 2, 30, tzinfo=vienna)
print(ambiguous.utcoffset(), ambiguous.replace(fold=1).utcoffset(), datetime(2026, 7, 1, tzinfo=vienna).dst(), datetime(1930, 1, 1, tzinfo=vienna).utcoffset(), datetime(2055, 7, 1, tzinfo=vienna).utcoffset())
for bad in ("Mars/Olympus", "../etc/passwd", "/etc/localtime", "europe"):
    try:
        ZoneInfo(bad)
    except (ZoneInfoNotFoundError, ValueError) as error:
        print(type(error).__name__)
stamps = ["2026-01-01T00:00:00+00:00", "2026-07-01T12:00:00-04:00"]
print([datetime.fromisoformat(s).astimezone(vienna).isoformat() for s in stamps])
