import calendar

print(calendar.monthrange(2024, 2), calendar.isleap(2100), calendar.leapdays(2000, 2030), calendar.month_name[3], list(calendar.day_abbr), calendar.weekday(2026, 1, 31))
print(calendar.month(2026, 2))
print(calendar.monthcalendar(2026, 2), calendar.timegm((1970, 1, 2, 0, 0, 0)), calendar.TextCalendar(calendar.SUNDAY).formatmonth(2026, 3).splitlines()[1])
print([d for d in calendar.Calendar().itermonthdates(2026, 2)][0], len(calendar.calendar(2026)))
