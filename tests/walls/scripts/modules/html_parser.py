from html.parser import HTMLParser


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.links.append(dict(attrs).get("href"))

    def handle_data(self, data):
        if data.strip():
            self.text.append(data.strip())


p = Links()
p.feed('<p>See <a href="/x?a=1&amp;b=2">this</a> &amp; <b>that</b><br/></p>')
print(p.links, p.text)
