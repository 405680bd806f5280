# surface: held
# A value moves a request to another host: as the host, as a user, by dots, by a redirect, by a name of a private address.
import urllib.request
from urllib.parse import urlsplit

from winnow.security.tool_packs import call_pack, read_packs, serve, write_pack


def _write(url):
    execution = {"kind": "http", "method": "GET", "url": url}
    write_pack(execution=execution, caps={"network": ["any"]})


def control():
    with serve({}) as (inner, got), serve({}, redirects_to=f"{inner}/secret") as (outer, _):
        urllib.request.urlopen(outer).close()
        return len(got) == 1


def surface():
    with serve({}) as (inner, got), serve({}, redirects_to=f"{inner}/secret") as (outer, asked):
        netloc = urlsplit(inner).netloc
        for url in ("http://{{ input.q }}/x", "{{ input.q }}", f"http://search.invalid@{netloc}/", "http://a{{ input.q }}/"):
            _write(url)
            if read_packs()[0]:
                return True
        for value in (f"@{netloc}/", f"//{netloc}/", f"..//{netloc}", "..", "\\..\\", f"/x HTTP/1.1\r\nHost: {netloc}"):
            for url in (outer + "/{{ input.q }}", outer + "/a?q={{ input.q }}"):
                _write(url)
                call_pack(value)
        for host in ("2130706433", "0x7f.1", "localhost.localdomain"):
            _write(inner.replace("127.0.0.1", host))
            call_pack("x")
        heads = [each.partition("\n")[0] for each in asked]
        strayed = [head for head in heads if not head.startswith(("/a?q=", "/%")) or ".." in head.partition("?")[0]]
        return bool(got) or bool(strayed) or not asked
