from datetime import date, timedelta


def add_months(d, n):
    month = d.month - 1 + n
    year, month = d.year + month // 12, month % 12 + 1
    last = (date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month, min(d.day, last))


def workdays(start, end):
    return sum((start + timedelta(days=i)).weekday() < 5 for i in range((end - start).days + 1))


def quarter(d):
    return f"{d.year}-Q{(d.month - 1) // 3 + 1}"


d = date(2026, 1, 31)
print([str(add_months(d, n)) for n in (1, 2, 13, -1)], workdays(date(2026, 1, 1), date(2026, 1, 31)), quarter(d))
mondays = [d + timedelta(days=i) for i in range(21) if (d + timedelta(days=i)).weekday() == 0]
print([m.strftime("%d.%m.") for m in mondays], (date(2026, 12, 25) - d).days // 7, date(2024, 2, 29).strftime("%j"))
age = lambda born, today: today.year - born.year - ((today.month, today.day) < (born.month, born.day))
print(age(date(1990, 6, 15), date(2026, 6, 14)), age(date(1990, 6, 15), date(2026, 6, 15)))
