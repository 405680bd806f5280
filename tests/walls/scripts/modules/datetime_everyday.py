from datetime import UTC, date, datetime, time, timedelta, timezone

d = date(2026, 1, 31)
print(d, d.isoformat(), d.weekday(), d.isoweekday(), d.isocalendar(), d.strftime("%A %d %B %Y, week %V, day %j"), d.replace(day=1), d.toordinal())
print(d + timedelta(days=30), d - date(2025, 12, 25), (d - timedelta(weeks=1)).day, date.fromisoformat("2026-02-28"), date(2024, 2, 29).replace(year=2028))
dt = datetime(2026, 3, 1, 13, 45, 10, 123456)
print(dt, dt.date(), dt.time(), dt.isoformat(timespec="seconds"), dt.strftime("%Y-%m-%dT%H:%M:%S.%f %I%p"), f"{dt:%d.%m.%y}", dt.replace(microsecond=0), dt.timetuple().tm_yday)
print(datetime.strptime("01/Feb/2026 10:20", "%d/%b/%Y %H:%M"), datetime.fromisoformat("2026-01-01T10:00:00+02:00"), datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("2026-01-01T00:00:00Z"))
utc = datetime(2026, 1, 1, tzinfo=UTC)
vienna = timezone(timedelta(hours=1), "CET")
print(utc.astimezone(vienna), utc.timestamp(), datetime.fromtimestamp(0, tz=timezone.utc), utc.tzinfo, utc.astimezone(vienna).tzname(), utc == utc.astimezone(vienna))
delta = timedelta(days=1, hours=2, minutes=30)
print(delta, delta.total_seconds(), delta.days, delta.seconds, delta * 2, delta / 2, delta // timedelta(hours=1), divmod(delta, timedelta(hours=1)), -delta, abs(-delta), timedelta(0) or "zero")
print(time(10, 30).isoformat(), time.fromisoformat("04:05:06"), datetime.combine(d, time(1)), sorted([date(2026, 2, 1), date(2025, 1, 1)]), max(d, date(2026, 2, 1)), date.min, datetime.max.year)
print([(d.replace(day=1) + timedelta(days=32 * n)).strftime("%b") for n in range(3)], (date(2026, 12, 24) - date(2026, 1, 1)).days, repr(dt), repr(delta), repr(utc))
for bad in (lambda: date(2026, 2, 30), lambda: datetime.strptime("x", "%Y"), lambda: date.fromisoformat("2026-13-01"), lambda: d - 1, lambda: dt - utc, lambda: d < dt, lambda: timedelta("1")):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, error)
class Quarter(date):
    @property
    def quarter(self):
        return (self.month - 1) // 3 + 1
print(Quarter(2026, 5, 1).quarter, Quarter.fromisoformat("2026-12-01").quarter)
