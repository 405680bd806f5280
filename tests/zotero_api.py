"""Serves a synthetic Zotero as its local API: HTTP/1.0 on loopback, one request at a time, no length of answers.

``answers`` replaces answers to paths, ``before`` is called with each path, ``is_enabled`` is the user's switch,
and ``has_versions`` says whether unsynchronized changes have versions, as they do from Zotero 10 on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.zotero_library import Entry, Library, Zotero

Answer = tuple[int, dict[str, str], bytes]


@dataclass(slots=True)
class ZoteroApi:
    """The server and what it was asked."""

    zotero: Zotero
    url: str = ""
    is_enabled: bool = True
    has_versions: bool = True
    asked: list[str] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    before: Callable[[str], None] | None = None

    def answer(self, path: str, query: dict[str, str]) -> Answer:
        if not self.is_enabled:
            return 403, {}, b"Local API is not enabled"
        parts = path.strip("/").split("/")
        match parts[1:]:
            case []:
                return 200, {}, b"Nothing to see here."
            case ["users", "0", "groups"]:
                groups = [each for each in self.zotero.libraries if each.id != "library"]
                return self._json([self._group(each) for each in groups])
            case [kind, number, *rest]:
                id = "library" if kind == "users" else f"{kind}/{number}"
                library = next((each for each in self.zotero.libraries if each.id == id), None)
                return (404, {}, b"Not found") if library is None else self._of_library(library, rest, query)
        return 404, {}, b"No endpoint found"

    def _of_library(self, library: Library, rest: list[str], query: dict[str, str]) -> Answer:
        match rest:
            case ["items"]:
                return self._list(library, library.listed(), self._item, query)
            case ["collections"]:
                shown = [each for each in library.collections.values() if not each.in_trash]
                return self._list(library, shown, self._collection, query)
            case ["tags"]:
                names = {tag["tag"]: None for each in library.items.values() for tag in each.data.get("tags", ())}
                return self._json([{"tag": name, "meta": {"type": 0, "numItems": 1}} for name in names], library)
            case ["items", key, "file"]:
                return 302, {"Location": self.zotero.file_path(library.items[key]).as_uri()}, b""
        return 404, {}, b"Not found"

    def _list(
        self,
        library: Library,
        entries: list[Entry],
        show: Callable[[Entry], dict[str, Any]],
        query: dict[str, str],
    ) -> Answer:
        if "itemKey" in query:
            wanted = set(query["itemKey"].split(","))
            entries = [each for each in entries if each.key in wanted]
        if "itemType" in query:
            entries = [each for each in entries if each.data["itemType"] == query["itemType"]]
        since = int(query.get("since", "0"))
        entries = [each for each in entries if not since or self._version(each.version) > since]
        entries.sort(key=lambda each: each.data["dateModified"], reverse=True)
        total, start = len(entries), int(query.get("start", "0"))
        entries = entries[start : start + int(query.get("limit", total or 1))]
        if query.get("format") == "versions":
            return self._json({each.key: self._version(each.version) for each in entries}, library, total)
        return self._json([show(each) for each in entries], library, total)

    def _version(self, version: int) -> int:
        return version if self.has_versions else 0

    def _item(self, entry: Entry) -> dict[str, Any]:
        version = self._version(entry.version)
        known = entry.parsed
        while known.endswith("-00"):
            known = known.removesuffix("-00")
        meta = {"numChildren": 0, **({"parsedDate": known} if known else {})}
        data = {"key": entry.key, "version": version, **entry.data, "relations": {}}
        if data["itemType"] == "attachment" and data["linkMode"].startswith("imported"):
            links = {"enclosure": {"href": self.zotero.stored_path(entry).as_uri(), "title": data["filename"]}}
        else:
            links = {}
        return {"key": entry.key, "version": version, "links": links, "meta": meta, "data": data}

    def _collection(self, entry: Entry) -> dict[str, Any]:
        version = self._version(entry.version)
        return {"key": entry.key, "version": version, "meta": {}, "data": {"key": entry.key, **entry.data}}

    def _group(self, library: Library) -> dict[str, Any]:
        id = int(library.id.partition("/")[2])
        return {"id": id, "version": 7, "meta": {}, "data": {"id": id, "version": 7, "name": library.name}}

    def _json(self, value: Any, library: Library | None = None, total: int | None = None) -> Answer:
        headers = {"Content-Type": "application/json", "Zotero-API-Version": "3"}
        if self.has_versions:
            headers["Zotero-Server-ID"] = self.zotero.server
        if library is not None:
            headers["Last-Modified-Version"] = str(self._version(library.version))
        headers["Total-Results"] = str(len(value) if total is None else total)
        return 200, headers, json.dumps(value, ensure_ascii=False, indent=4).encode()


@contextmanager
def serve_api(zotero: Zotero) -> Iterator[ZoteroApi]:
    """The local API of this Zotero on a free port."""
    api = ZoteroApi(zotero)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            api.asked.append(self.path)
            if api.before is not None:
                api.before(self.path)
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            status, headers, body = api.answers.get(address.path) or api.answer(address.path, query)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        api.url = f"http://127.0.0.1:{server.server_port}/api"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield api
        server.shutdown()
        thread.join()
