"""Who may reach an HTTP server: options, addresses, back-off, limits and remembered keys."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import make_certificate
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.commands.serving.announcement import announce
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.runtime.sessions.identities import identity_of, key_name, queue_key
from winnow.server.runtime.sessions.rights import settings_for
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_file import FILE, add_key, new_key, revoke_key, rotate_key
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.storage.keys.records import AccessKey, KeyText
from winnow.server.transports.access.authentication import Authentication
from winnow.server.transports.access.failed_attempts import BLOCK_SECONDS, FREE_ATTEMPTS, FailedAttempts
from winnow.server.transports.access.http_access import Certificate, HttpAccess, HttpOptions
from winnow.server.transports.addresses import (
    group_of,
    is_in,
    listen,
    parse_host_name,
    parse_networks,
    stated_client,
)
from winnow.server.transports.facade.routes import describe_refusal
from winnow.server.transports.origins import KnownHosts
from winnow.server.transports.rate_limits import RateLimit

EVERYWHERE = "0.0.0.0"
PROXY = ("10.0.0.1",)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def make_key(store: Path, name: str = "laptop", **options: object) -> tuple[AccessKey, KeyText]:
    key, text = new_key(name, int(time.time()), **options)
    add_key(store, key, int(time.time()))
    return key, text


# --- the options of winnow serve


@pytest.mark.parametrize("host", [EVERYWHERE, "192.0.2.1", "::", "winnow.example.com"])
def test_an_address_beyond_loopback_needs_keys_and_tls_or_a_proxy(tmp_path: Path, host: str) -> None:
    certificate = make_certificate(tmp_path)
    offers = (HttpOptions(), HttpOptions(certificate), HttpOptions(proxies=PROXY))
    for options in offers:
        with pytest.raises(WinnowError, match="winnow key add"):
            options.access(host, tmp_path, ("p",))
    make_key(tmp_path)
    with pytest.raises(WinnowError, match="missing: TLS, by --tls-cert and --tls-key, or by a proxy"):
        offers[0].access(host, tmp_path, ("p",))
    assert [options.access(host, tmp_path, ("p",)).is_plain for options in offers[1:]] == [False, True]
    revoke_key(tmp_path, "laptop", int(time.time()))
    for options in offers:
        with pytest.raises(WinnowError, match="missing: a key ") as caught:
            options.access(host, tmp_path, ("p",))
        assert ("and TLS, by" in caught.value.message) == (options is offers[0])


def test_a_proxy_or_a_name_on_loopback_needs_keys_as_well(tmp_path: Path) -> None:
    assert not HttpOptions().access("127.0.0.1", tmp_path, ("p",)).always_needs_keys
    for options in (HttpOptions(proxies=PROXY), HttpOptions(host_names=("winnow.example.com",))):
        with pytest.raises(WinnowError, match="need keys"):
            options.access("127.0.0.1", tmp_path, ("p",))
    make_key(tmp_path)
    assert HttpOptions(proxies=PROXY).access("127.0.0.1", tmp_path, ("p",)).always_needs_keys


def test_options_that_are_not_what_they_should_be_are_refused(tmp_path: Path) -> None:
    make_key(tmp_path)
    good = make_certificate(tmp_path)
    (tmp_path / "locked").mkdir()
    locked = make_certificate(tmp_path / "locked", b"secret")
    (tmp_path / "text.pem").write_text("no certificate", "utf-8")
    wrong: Sequence[HttpOptions] = (
        HttpOptions(Certificate(good.file, None)),
        HttpOptions(Certificate(None, good.key_file)),
        HttpOptions(Certificate(tmp_path / "missing.pem", good.key_file)),
        HttpOptions(Certificate(tmp_path / "text.pem", good.key_file)),
        HttpOptions(Certificate(good.file, locked.key_file)),
        HttpOptions(locked),
        HttpOptions(good, proxies=("proxy.example",)),
        HttpOptions(good, allowed=("10.0.0.1/8",)),
        HttpOptions(good, host_names=("https://winnow.example.com",)),
        HttpOptions(good, host_names=("*",)),
    )
    with pytest.raises(WinnowError, match=r"--tls-cert: .*missing\.pem cannot be read \(No such file"):
        wrong[2].access(EVERYWHERE, tmp_path, ("p",))
    for options in wrong:
        with pytest.raises(WinnowError, match="--"):
            options.access(EVERYWHERE, tmp_path, ("p",))


def test_a_file_of_keys_that_others_may_write_stops_the_start(tmp_path: Path) -> None:
    make_key(tmp_path)
    (tmp_path / FILE).chmod(0o666)
    with pytest.raises(WinnowError, match="chmod 600"):
        HttpOptions().access("127.0.0.1", tmp_path, ("p",))


def test_keys_that_were_lost_stop_the_start_unless_it_is_asked_for_without_them(tmp_path: Path) -> None:
    make_key(tmp_path)
    with pytest.raises(WinnowError, match="--no-keys is for a store whose keys were lost"):
        HttpOptions(no_keys=True).access("127.0.0.1", tmp_path, ("p",))
    (tmp_path / FILE).unlink()
    with pytest.raises(WinnowError, match="winnow serve --no-keys"):
        HttpOptions().access("127.0.0.1", tmp_path, ("p",))
    with pytest.raises(WinnowError, match="needs keys or tokens"):
        HttpOptions(no_keys=True).access(EVERYWHERE, tmp_path, ("p",))
    access = HttpOptions(no_keys=True).access("127.0.0.1", tmp_path, ("p",))
    assert (access.keys.is_needed, access.keys.problem) == (False, "")


# --- addresses


def test_addresses_are_grouped_as_limits_count_them() -> None:
    grouped = {
        "127.0.0.9": "loopback",
        "::1": "loopback",
        "192.0.2.7": "192.0.2.7",
        "::ffff:192.0.2.7": "192.0.2.7",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "2001:db8:1:2::": "2001:db8:1:2::/64",
        "": "",
    }
    assert {peer: group_of(peer) for peer in grouped} == grouped


@pytest.mark.parametrize(
    ("sent", "client"),
    [
        ([], "10.0.0.1"),
        ([b"192.0.2.7"], "192.0.2.7"),
        ([b"203.0.113.1, 192.0.2.7"], "192.0.2.7"),
        ([b"203.0.113.1", b"192.0.2.7, 10.0.0.2"], "192.0.2.7"),
        ([b""], "10.0.0.1"),
        ([b"192.0.2.7, unknown"], "unknown"),
        ([b"192.0.2.7, \xff\n"], "unknown"),
        ([b"192.0.2.7:80"], "192.0.2.7"),
        ([b"192.0.2.7:80, 10.0.0.2:4711"], "192.0.2.7"),
        ([b"[2001:db8::4]:4711"], "2001:db8::4"),
        ([b"192.0.2.7:80:80"], "unknown"),
        ([b"10.0.0.3"], "10.0.0.3"),
        ([b", ".join([b"10.0.0.2"] * 1_000)], "10.0.0.2"),
    ],
)
def test_only_the_entries_of_known_proxies_are_believed(sent: list[bytes], client: str) -> None:
    headers = [(b"x-forwarded-for", value) for value in sent]
    assert stated_client("10.0.0.1", headers, parse_networks("--trusted-proxy", ["10.0.0.0/8"])) == client


def test_networks_of_ipv4_in_ipv6_are_networks_of_ipv4() -> None:
    networks = parse_networks("--deny-address", ["::ffff:192.0.2.7", "::ffff:10.0.0.0/104", "2001:db8::/32"])
    assert [str(network) for network in networks] == ["192.0.2.7/32", "10.0.0.0/8", "2001:db8::/32"]
    assert [is_in(each, networks) for each in ("192.0.2.7", "::ffff:10.1.2.3", "192.0.2.8")] == [True, True, False]


def test_names_of_hosts_are_compared_in_one_form() -> None:
    names = {"Winnow.Example.com.": "winnow.example.com", "[2001:DB8::1]": "2001:db8::1", "localhost": "localhost"}
    assert {name: parse_host_name(name) for name in names} == names


# --- wrong keys


def test_after_the_free_attempts_each_wrong_key_doubles_the_wait_up_to_a_block() -> None:
    clock = Clock()
    failures = FailedAttempts(clock)
    waits = []
    for _ in range(FREE_ATTEMPTS + 13):
        waits.append(failures.add("a"))
        clock.seconds += failures.wait("a")
    doubling = [float(2**number) for number in range(10)]
    assert waits == [0.0] * FREE_ATTEMPTS + doubling + [BLOCK_SECONDS] * 3
    assert (failures.wait("a"), failures.wait("b")) == (0.0, 0.0)


def test_wrong_keys_are_forgotten_after_an_hour_and_the_table_is_bounded() -> None:
    clock = Clock()
    failures = FailedAttempts(clock, max_addresses=100)
    for _ in range(FREE_ATTEMPTS):
        failures.add("a")
    clock.seconds += 3_601
    assert failures.add("a") == 0.0
    for number in range(1_000):
        failures.add(f"address {number}")
    assert len(failures) == 100


def test_attempts_that_have_to_wait_are_counted_and_make_no_wait_longer() -> None:
    clock = Clock()
    failures = FailedAttempts(clock)
    waits = [failures.refuse("a") or failures.add("a") for _ in range(FREE_ATTEMPTS + 3)]
    assert (waits[FREE_ATTEMPTS:], failures.total) == ([1.0] * 3, FREE_ATTEMPTS + 3)
    assert (failures.refuse("b"), failures.total) == (0.0, FREE_ATTEMPTS + 3)


@pytest.mark.anyio
async def test_addresses_are_checked_before_keys_and_the_proxy_is_the_only_way_in(tmp_path: Path) -> None:
    make_key(tmp_path)
    rules = HttpAccess(
        KeyRing(tmp_path),
        ("p",),
        always_needs_keys=True,
        is_plain=True,
        proxies=parse_networks("--trusted-proxy", PROXY),
        allowed=parse_networks("--allow-address", ["192.0.2.0/24", "10.0.0.1"]),
        denied=parse_networks("--deny-address", ["192.0.2.128/25"]),
    )
    authentication = Authentication(_unreachable, rules, describe_refusal)
    expected = {
        ("192.0.2.7", ""): 403,  # not through the proxy
        ("10.0.0.1", ""): 401,
        ("10.0.0.1", "192.0.2.7"): 401,
        ("10.0.0.1", "198.51.100.1"): 403,  # not allowed
        ("10.0.0.1", "192.0.2.200"): 403,  # allowed and denied
        ("10.0.0.1", "::ffff:192.0.2.200"): 403,  # the same address
    }
    assert {case: await _status(authentication, *case) for case in expected} == expected


async def _unreachable(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("a request without a key reached the application")


async def _status(authentication: Authentication, peer: str, forwarded: str) -> int:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope = {
        "type": "http",
        "client": (peer, 1),
        "headers": headers,
        "path": "/mcp",
        "method": "GET",
        "query_string": b"",
    }
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    await authentication(scope, receive, send)
    return int(sent[0]["status"])


# --- remembered keys


@pytest.mark.anyio
async def test_a_verified_key_is_remembered_while_the_file_has_its_hash(tmp_path: Path) -> None:
    key, text = make_key(tmp_path)
    ring = KeyRing(tmp_path)
    assert ring.recall(text) is None
    assert await ring.verify(text) == key
    assert ring.recall(text) == key
    other = KeyText(text.id, KeyText.create().secret)
    assert (ring.recall(other), await ring.verify(other)) == (None, None)
    make_key(tmp_path, "other")
    assert ring.recall(text) == key
    (tmp_path / FILE).rename(tmp_path / "moved")
    assert ring.recall(text) is None
    (tmp_path / "moved").rename(tmp_path / FILE)
    assert ring.recall(text) == key
    rotated, new = rotate_key(tmp_path, "laptop", int(time.time()))
    assert (ring.recall(text), await ring.verify(text), ring.is_active(key)) == (None, None, False)
    assert (await ring.verify(new), ring.is_active(rotated)) == (rotated, True)


@pytest.mark.anyio
async def test_a_remembered_key_ends_at_its_time(tmp_path: Path) -> None:
    clock = Clock(time.time())
    key, text = make_key(tmp_path, expires_at=int(clock.seconds) + 60)
    ring = KeyRing(tmp_path, clock)
    assert await ring.verify(text) == key
    clock.seconds += 61
    assert (ring.recall(text), await ring.verify(text), ring.is_active(key)) == (None, None, False)
    assert (ring.active_count, ring.is_needed) == (0, True)


# --- what a server logs when it starts


def start_lines(store: Path, caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    """What a server of the projects a and b logs when it starts on this store."""
    settings = Settings(store=store, project="a", projects=("a", "b"))
    listeners = listen("127.0.0.1", 0)
    try:
        with caplog.at_level(logging.INFO, "winnow"):
            announce(
                settings, listeners, HttpOptions().access("127.0.0.1", store, settings.reachable), Certificate()
            )
    finally:
        for listener in listeners:
            listener.close()
    return [(record.getMessage(), vars(record).get("fields", {})) for record in caplog.records]


def test_a_server_on_http_logs_its_address_its_projects_and_its_keys(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_key(tmp_path)
    (_, fields), *warnings = start_lines(tmp_path, caplog)
    (address,) = fields.pop("addresses")
    assert (address.startswith("http://127.0.0.1:"), address.endswith("/mcp")) == (True, True)
    assert fields == {"projects": ["a", "b"], "project": "a", "valid_keys": 1, "tools": ["all"]}
    assert [fields["project"] for _, fields in warnings] == ["a", "b"]


def test_a_server_without_a_valid_key_warns_that_it_refuses_everything(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_key(tmp_path)
    revoke_key(tmp_path, "laptop", int(time.time()))
    messages = [message for message, _ in start_lines(tmp_path, caplog)]
    assert "no key is valid, so every request is refused; add one: winnow key add NAME" in messages


def test_a_server_of_empty_projects_names_those_that_have_documents(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "page.md").write_text("# A page\n\nA text.\n", "utf-8")
    settings = load_settings(store=tmp_path / "store", project="elsewhere", embedding="off")
    with closing(open_backends(settings, wait_for_model=False)) as backends:
        ingest_paths(target_of(settings, backends, None), [tmp_path / "page.md"])
    told = [message for message, _ in start_lines(settings.store, caplog) if message.startswith("project 'a'")]
    assert told == [
        "project 'a' has no documents; projects of this store with documents: elsewhere; index some: winnow "
        "ingest PATH --project a, or serve another: --projects elsewhere"
    ]


def test_a_server_names_each_valid_key_that_reaches_none_of_its_projects(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = int(time.time())
    for name, projects in (("one", ("a", "c")), ("all", ()), ("none", ("c",)), ("gone", ("c",))):
        add_key(tmp_path, new_key(name, now, projects=projects)[0], now)
    revoke_key(tmp_path, "gone", now)
    lines = start_lines(tmp_path, caplog)
    assert [fields["reaches"] for _, fields in lines if "reaches" in fields] == [["c"]]
    assert "key 'none' reaches none of the projects served" in " ".join(message for message, _ in lines)


# --- rights and limits of a key


def name_of(**rights: Any) -> str:
    given = {"projects": (), "is_read_only": False, "calls_per_minute": None, **rights}
    return key_name("1f0c9a2b", given.pop("projects"), **given)


def test_the_name_of_a_connection_states_the_rights_of_its_key() -> None:
    identity = identity_of(name_of(projects=("a", "b/c"), is_read_only=True, calls_per_minute=7))
    assert (identity.access_key, identity.projects, identity.is_read_only) == ("1f0c9a2b", ("a", "b/c"), True)
    assert (identity.calls_per_minute, identity.is_shared, identity.is_proven) == (7, False, True)
    same = identity_of(name_of())
    assert (identity.key, queue_key(name_of())) == (same.key, same.key)


def test_a_key_narrows_settings_and_never_widens_them() -> None:
    settings = Settings(project="a", projects=("a", "b"), enable_writes=True)
    assert settings_for(settings, "stdio") is settings
    assert settings_for(settings, name_of()) is settings
    narrowed = settings_for(settings, name_of(projects=("b", "c"), is_read_only=True))
    assert (narrowed.project, narrowed.reachable, narrowed.enable_writes) == ("b", ("b",), False)
    reader = settings_for(Settings(enable_writes=False), name_of())
    assert not reader.enable_writes
    with pytest.raises(WinnowError, match="none of the projects"):
        settings_for(settings, name_of(projects=("c",)))


def test_a_key_has_its_own_rate_and_ten_share_an_address() -> None:
    limit = RateLimit(Settings(calls_per_minute=10, scripts_per_minute=5), Clock())
    slow, fast, plain = (name_of(calls_per_minute=rate) for rate in (2, 500, None))
    taken = {}
    for client, kind in ((slow, "direct"), (slow, "script"), (fast, "script"), (plain, "read")):
        limit = RateLimit(Settings(calls_per_minute=10, scripts_per_minute=5, reads_per_minute=4), Clock())
        taken[client, kind] = _take_all(limit, client, kind)
    assert [*taken.values()] == [2, 2, 5, 4]
    limit = RateLimit(Settings(calls_per_minute=10), Clock())
    of_keys = [_take_all(limit, key_name(f"{number:08x}", (), is_read_only=False, calls_per_minute=None), "direct")
               for number in range(12)]  # fmt: skip
    assert of_keys == [10] * 10 + [0] * 2


def _take_all(limit: RateLimit, client: str, kind: str) -> int:
    """How many calls are accepted at once."""
    for number in range(1_000):
        try:
            limit.take(client, kind, "192.0.2.7")
        except WinnowError:
            return number
    raise AssertionError("no limit")


# --- requests for other hosts


@pytest.mark.anyio
async def test_refused_hosts_and_pages_are_told_the_option_and_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    known = KnownHosts(_unreachable)
    other = [(b"host", b"evil.example\x1b[2J<b>")], [(b"host", b"localhost"), (b"origin", b"https://evil.example")]
    with caplog.at_level(logging.WARNING, "winnow"):
        for headers in other:
            scope = {"type": "http", "path": "/mcp", "method": "GET", "headers": headers, "server": None}
            await known(scope, receive, send)
    assert [message["status"] for message in sent if "status" in message] == [421, 403]
    bodies = [message["body"].decode() for message in sent if "body" in message]
    assert [("--host-name NAME" in body, "evil" in body) for body in bodies] == [(True, False)] * 2
    (record,) = caplog.records
    assert vars(record)["fields"]["host"] == "evil.example<b>"
