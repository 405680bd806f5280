"""``winnow key``, and the file that it writes."""

from __future__ import annotations

import json
import os
import pwd
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from winnow.server.commands.health import primary_data
from winnow.server.commands.projects.project import app as project_app
from winnow.server.commands.serving.keys import app
from winnow.server.errors import WinnowError
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.lock import KEYS, StoreLock
from winnow.server.storage.keys import key_file
from winnow.server.storage.keys.hashing import matches
from winnow.server.storage.keys.key_file import (
    FILE,
    add_key,
    keys_for_only,
    new_key,
    read_keys,
    rename_in_keys,
    revoke_key,
)
from winnow.server.storage.keys.records import AccessKey, KeyText
from winnow.server.transports.access.http_access import HttpOptions

NOW = 1_800_000_000


def winnow_key(store: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(app, [*arguments, "--store", str(store), "--json"])
    return done.exit_code, json.loads(done.stdout)


def test_a_key_is_shown_once_and_only_its_hash_is_stored(tmp_path: Path) -> None:
    code, added = winnow_key(tmp_path, "add", "laptop", "--projects", "a,b", "--projects", "c", "--read-only")
    text = KeyText.parse(added["key"])
    assert (code, added["state"], added["projects"], added["read_only"]) == (0, "active", ["a", "b", "c"], True)
    assert text is not None
    assert (text.id, text.tail) == (added["id"], added["ends_with"])
    stored = (tmp_path / FILE).read_text("utf-8")
    assert text.secret not in stored
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    (key,) = read_keys(tmp_path)
    assert matches(text.secret, key.salt, key.digest)
    assert not matches(KeyText.create().secret, key.salt, key.digest)
    assert (
        text.secret not in f"{key!r}{text!r}{CliRunner().invoke(app, ['list', '--store', str(tmp_path)]).stdout}"
    )
    assert key.digest not in repr(key)


def test_a_store_whose_first_key_is_being_added_has_lost_none(tmp_path: Path) -> None:
    adding = StoreLock(tmp_path, KEYS)
    assert read_keys(tmp_path) == ()
    adding.release()
    with pytest.raises(WinnowError, match="had keys"):
        read_keys(tmp_path)


def test_keys_that_are_gone_are_a_loss_and_not_a_store_without_keys(tmp_path: Path) -> None:
    assert winnow_key(tmp_path, "revoke", "nobody")[1]["error"]["details"]["reason"] == "NOT_FOUND"
    assert read_keys(tmp_path) == ()
    winnow_key(tmp_path, "add", "laptop")
    (tmp_path / FILE).unlink()
    for attempt in (["list"], ["add", "another"]):
        code, refused = winnow_key(tmp_path, *attempt)
        assert (attempt, code, "had keys" in refused["error"]["message"]) == (attempt, 2, True)
    with pytest.raises(WinnowError, match="had keys"):
        HttpOptions().access("127.0.0.1", tmp_path, ("p",))
    # Both are signs of keys; files of an earlier version have the second one alone.
    for sign in ("keys-head.json", "keys"):
        code, refused = winnow_key(tmp_path, "list")
        assert (code, f"{tmp_path / sign}" in refused["error"]["message"]) == (2, True)
        (tmp_path / sign).unlink()
    assert winnow_key(tmp_path, "add", "another")[0] == 0
    assert [key.name for key in read_keys(tmp_path)] == ["another"]


def test_standard_output_is_the_key_alone(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["add", "laptop", "--store", str(tmp_path)])
    assert KeyText.parse(done.stdout.rstrip("\n")) is not None
    assert "only time" in done.stderr


def test_a_rotated_key_keeps_its_id_and_rights_and_has_another_secret(tmp_path: Path) -> None:
    added = winnow_key(tmp_path, "add", "ci", "--projects", "a", "--rate", "7")[1]
    rotated = winnow_key(tmp_path, "rotate", "ci")[1]
    assert [rotated[name] for name in ("id", "projects", "calls_per_minute")] == [added["id"], ["a"], 7]
    old, new = KeyText.parse(added["key"]), KeyText.parse(rotated["key"])
    assert old is not None
    assert new is not None
    (key,) = read_keys(tmp_path)
    assert [matches(text.secret, key.salt, key.digest) for text in (old, new)] == [False, True]


def test_a_revoked_key_stays_revoked_and_frees_its_name(tmp_path: Path) -> None:
    first = winnow_key(tmp_path, "add", "ci")[1]
    assert winnow_key(tmp_path, "add", "ci")[0] == 2
    assert winnow_key(tmp_path, "revoke", first["id"])[1]["state"] == "revoked"
    for change in ("revoke", "rotate"):
        code, refused = winnow_key(tmp_path, change, first["id"])
        assert (code, refused["error"]["details"]["reason"]) == (2, "NOT_FOUND")
    assert winnow_key(tmp_path, "add", "ci")[0] == 0
    listed = winnow_key(tmp_path, "list")[1]["keys"]
    assert [(row["name"], row["state"]) for row in listed] == [("ci", "revoked"), ("ci", "active")]


def test_only_a_key_that_cannot_be_used_is_removed(tmp_path: Path) -> None:
    winnow_key(tmp_path, "add", "ci")
    code, refused = winnow_key(tmp_path, "remove", "ci")
    assert (code, f"winnow key revoke --store {tmp_path} ci" in refused["error"]["message"]) == (2, True)
    winnow_key(tmp_path, "revoke", "ci")
    assert winnow_key(tmp_path, "rotate", "ci")[1]["error"]["message"].startswith("the key ci was revoked; add")
    assert winnow_key(tmp_path, "remove", "ci")[1]["state"] == "revoked"
    assert winnow_key(tmp_path, "list")[1]["keys"] == []
    assert winnow_key(tmp_path, "remove", "ci")[1]["error"]["details"]["reason"] == "NOT_FOUND"


def test_a_project_that_the_store_does_not_have_is_noted(tmp_path: Path) -> None:
    CliRunner().invoke(project_app, ["create", "alpha", "--store", str(tmp_path)])
    done = CliRunner().invoke(app, ["add", "x", "--projects", "alpha,alfa", "--store", str(tmp_path)])
    assert "note: the store has no project alfa; its projects: alpha" in done.stderr
    assert KeyText.parse(done.stdout.rstrip("\n")) is not None


def test_an_expired_key_is_listed_as_expired(tmp_path: Path) -> None:
    key, _ = new_key("old", NOW, expires_at=NOW + 60)
    assert [key.state(NOW + seconds) for seconds in (0, 59, 60)] == ["active", "active", "expired"]
    assert winnow_key(tmp_path, "add", "soon", "--expires", "2d")[1]["state"] == "active"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("a b",), "name"),
        (("",), "name"),
        (("x", "--projects", "a b"), "projects"),
        (("x", "--projects", ","), "no name"),
        (("x", "--projects", ""), "--projects names no project"),
        (("x", "--expires", "0h"), "over"),
        (("x", "--rate", "0"), "rate"),
        (("x", "--rate", "100001"), "rate"),
        (("x", "--expires", "soon"), "--expires"),
        (("x", "--expires", "2020-01-01"), "over"),
        (("x", "--expires", "99999d"), ""),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, arguments: tuple[str, ...], named: str) -> None:
    code, answer = winnow_key(tmp_path, "add", *arguments)
    if named:
        assert code == 2
        assert named in answer["error"]["message"]
        assert not (tmp_path / FILE).exists()
    else:
        assert (code, answer["expires"][:2]) == (0, "23")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.chmod(0o620),
        lambda path: path.write_text("{", "utf-8"),
        lambda path: path.write_text('{"version": 2, "keys": []}', "utf-8"),
        lambda path: path.write_text(path.read_text("utf-8").replace('"read_only"', '"admin"'), "utf-8"),
        lambda path: (path.rename(path.with_name("moved")), path.symlink_to("moved")),
    ],
)
def test_a_file_that_is_not_as_written_is_refused_by_every_command(tmp_path: Path, damage: Any) -> None:
    winnow_key(tmp_path, "add", "laptop")
    damage(tmp_path / FILE)
    for arguments in (("list",), ("add", "other"), ("revoke", "laptop"), ("rotate", "laptop")):
        code, refused = winnow_key(tmp_path, *arguments)
        assert (code, "is not used" in refused["error"]["message"]) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the store of another user")
def test_keys_of_another_users_store_say_whose_it_is(tmp_path: Path) -> None:
    """No advice to delete what is right; the doctor gives the same advice as the command."""
    assert winnow_key(tmp_path, "add", "laptop")[0] == 0
    for path in (tmp_path, *tmp_path.iterdir()):
        os.chown(path, 65534, 65534)
    owner = pwd.getpwuid(65534).pw_name
    for path in (tmp_path / "keys-head.json", tmp_path / FILE):
        code, told = winnow_key(tmp_path, "add", "dave")
        message = f"{path} is not used: this store belongs to {owner}; run it as that user"
        assert (code, told["error"]["message"]) == (2, message)
        (finding,) = primary_data._keys(Settings(store=tmp_path))
        assert (f"{finding.detail}; {finding.advice}", finding.ok) == (message, False)
        (tmp_path / "keys-head.json").unlink(missing_ok=True)


def test_the_doctor_repeats_the_advice_of_the_error_about_keys(tmp_path: Path) -> None:
    assert winnow_key(tmp_path, "add", "laptop")[0] == 0
    (tmp_path / FILE).unlink()
    with pytest.raises(WinnowError) as told:
        read_keys(tmp_path)
    (finding,) = primary_data._keys(Settings(store=tmp_path))
    assert f"{finding.detail}; {finding.advice}" == told.value.message


def test_a_full_file_loses_the_key_that_was_revoked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_file, "MAX_KEYS", 3)
    keys = [_record(number) for number in range(5)]
    for key in keys[:3]:
        add_key(tmp_path, key, NOW)
    with pytest.raises(WinnowError, match="at most 3 keys"):
        add_key(tmp_path, keys[3], NOW)
    revoke_key(tmp_path, "key1", NOW)
    add_key(tmp_path, keys[3], NOW)
    assert [key.name for key in read_keys(tmp_path)] == ["key0", "key2", "key3"]


def test_a_renamed_project_keeps_its_keys_and_the_next_of_its_name_has_none(tmp_path: Path) -> None:
    for number, projects in enumerate([("beta",), ("alpha", "beta"), ("alpha",), ()]):
        add_key(tmp_path, _record(number).model_copy(update={"projects": projects}), NOW)
    assert keys_for_only(tmp_path, "beta", NOW) == ("key0",)
    assert rename_in_keys(tmp_path, "beta", "recipes") == ("key0", "key1")
    assert [key.projects for key in read_keys(tmp_path)] == [("recipes",), ("alpha", "recipes"), ("alpha",), ()]
    assert (keys_for_only(tmp_path, "beta", NOW), keys_for_only(tmp_path, "recipes", NOW)) == ((), ("key0",))
    assert rename_in_keys(tmp_path, "beta", "recipes") == ()


def test_a_rename_in_a_store_without_keys_makes_no_file_of_keys(tmp_path: Path) -> None:
    assert rename_in_keys(tmp_path, "beta", "recipes") == ()
    assert not (tmp_path / FILE).exists()


def _record(number: int) -> AccessKey:
    fields = {"id": f"{number:08x}", "name": f"key{number}", "tail": "0" * 4, "salt": "0" * 32}
    return AccessKey.model_validate({**fields, "digest": "0" * 64, "created_at": NOW})
