import re

text = "Contact bob@a.org or +43 660 123-4567. Versions 1.2.3, v2.0.0-rc1; price €12,50; see https://a.b/c?d=e. #tag1 #tag2 @user"
print(re.findall(r"[\w.+-]+@[\w-]+\.\w+", text), re.findall(r"\bv?(\d+\.\d+\.\d+(?:-\w+)?)", text), re.findall(r"#(\w+)", text))
print(re.findall(r"https?://[^\s.]+(?:\.[^\s.]+)*", text), re.sub(r"\d", "#", text)[:40], re.findall(r"€(\d+),(\d{2})", text))
print({m.group(0): m.span() for m in re.finditer(r"\b[A-Z]\w+", text)}, bool(re.fullmatch(r"[\w.]+@\w+\.org", "bob@a.org")))
