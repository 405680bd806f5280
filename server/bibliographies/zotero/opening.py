"""Opens the transport to Zotero: the local API of a running one, else the database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from winnow.server.bibliographies.zotero.database import DatabaseTransport
from winnow.server.bibliographies.zotero.files import FilePlaces
from winnow.server.bibliographies.zotero.local_api import LOCAL_API, LocalApi
from winnow.server.bibliographies.zotero.port_owner import owners_of
from winnow.server.bibliographies.zotero.profiles import find_places
from winnow.server.bibliographies.zotero.transport import ZoteroTransport
from winnow.server.errors import WinnowError

BY_API, BY_DATABASE = "api", "database"
_OTHER_ZOTERO = (
    "the Zotero that answers at {url} has its data in {theirs}, yours has it in {own}; "
    "to read the former, give --api"
)
_OTHER_USER = "another user's program answers at {url}, where Zotero does; to read it all the same, give --api"


@dataclass(frozen=True, slots=True)
class Zotero:
    """An open transport, its name ("api" or "database"), where files are, and why it is not the API, if so."""

    transport: ZoteroTransport
    by: str
    places: FilePlaces
    note: str = ""


@contextmanager
def open_zotero(
    data_folder: Path | None = None,
    api: str | None = None,
    *,
    use_api: bool = True,
    home: Path | None = None,
    usual_api: str = LOCAL_API,
) -> Iterator[Zotero]:
    """Open the API at the address ``api``, else the database in ``data_folder``, else what this machine has.

    Without both, the API at ``usual_api`` counts if it answers, no other user listens there, and its data folder
    is that of the user's profile: on a machine of several users the port may be another user's. Raises
    ``WinnowError``.
    """
    with ExitStack() as held:
        if api is None and (data_folder is not None or not use_api):
            zotero = _through_database(find_places(data_folder, home))
        else:
            client = held.enter_context(closing(LocalApi(api or usual_api)))
            zotero = _through_api(client, data_folder, home) if api else _through_either(client, home)
        held.enter_context(closing(zotero.transport))
        yield zotero


def _through_database(places: FilePlaces, note: str = "") -> Zotero:
    return Zotero(DatabaseTransport(places.data), BY_DATABASE, places, note)


def _through_api(client: LocalApi, data_folder: Path | None, home: Path | None) -> Zotero:
    stated = client.find_places()
    if data_folder is not None or stated is None:
        return Zotero(client, BY_API, find_places(data_folder, home))
    return Zotero(client, BY_API, _with_base(stated, home))


def _through_either(client: LocalApi, home: Path | None) -> Zotero:
    owners = owners_of(urlsplit(client.url).port or 0)
    if owners and owners != {os.geteuid()}:
        return _through_database(find_places(None, home), _OTHER_USER.format(url=client.url))
    try:
        stated = client.find_places()
    except WinnowError as error:
        return _through_database(find_places(None, home), error.message)
    try:
        own = find_places(None, home)
    except WinnowError:
        if stated is None:
            raise
        return Zotero(client, BY_API, stated)
    if stated is not None and stated.data.resolve() != own.data.resolve():
        note = _OTHER_ZOTERO.format(url=client.url, theirs=stated.data, own=own.data)
        return _through_database(own, note)
    return Zotero(client, BY_API, own if stated is None else _with_base(stated, home))


def _with_base(stated: FilePlaces, home: Path | None) -> FilePlaces:
    """The places with the base folder of the profile, where Zotero states none."""
    return stated if stated.linked else find_places(stated.data, home)
