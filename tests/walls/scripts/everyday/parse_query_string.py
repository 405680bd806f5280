from urllib.parse import parse_qsl, urlsplit

url = "https://example.org/a/b?x=1&y=two%20words&x=3#top"
parts = urlsplit(url)
query = {}
for key, value in parse_qsl(parts.query):
    query.setdefault(key, []).append(value)
print(parts.netloc, parts.path.split("/"), query, parts.fragment)
