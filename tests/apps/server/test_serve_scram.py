"""SCRAM as an attacker would speak it: wrong nonces, old proofs, headers that were not announced."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.releases import Made
from support.serving import SECRET, certificate, running

from sqlpriv.apps.server import scram
from sqlpriv.apps.server.messages import ProtocolError

pytestmark = pytest.mark.one_version

KNOWN = scram.make_verifier("analyst", SECRET)
BARE = b"n=,r=abcdefghijkl"
BINDS = b"p=tls-server-end-point,,"


class Client:
    """Proves the password; `header` is what it says of the channel."""

    def __init__(
        self,
        header: bytes = b"n,,",
        mechanism: bytes = scram.MECHANISM,
        password: str = SECRET,
        changed: Callable[[bytes], bytes] = lambda last: last,
        bare: bytes = BARE,
    ) -> None:
        self._header, self._mechanism, self._password = header, mechanism, password
        self._changed, self._bare = changed, bare
        self.asked: list[bytes] = []
        self.said: list[bytes] = []

    def ask(self, _: int, body: bytes) -> None:
        """A step of the server."""
        self.asked.append(body)

    def answer(self) -> bytes:
        """The next of the client."""
        self.said.append(self._last() if self.said else self._first())
        return self.said[-1]

    def _first(self) -> bytes:
        first = self._header + self._bare
        return self._mechanism + b"\0" + struct.pack("!i", len(first)) + first

    def _last(self) -> bytes:
        second = self.asked[-1]
        given = dict(part.split(b"=", 1) for part in second.split(b","))
        salted = hashlib.pbkdf2_hmac("sha256", self._password.encode(), base64.b64decode(given[b"s"]), int(given[b"i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without = self._changed(b"c=" + base64.b64encode(self._header) + b",r=" + given[b"r"])
        signature = hmac.digest(hashlib.sha256(key).digest(), b",".join((self._bare, second, without)), "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return without + b",p=" + base64.b64encode(proof)


def login(client: Any, known: scram.Verifier = KNOWN) -> None:
    scram.authenticate(known, client.ask, client.answer)


def test_a_client_proves_its_password_whether_or_not_it_could_bind_the_channel() -> None:
    for header in (b"n,,", b"y,,"):
        login(Client(header))


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (Client(BINDS), "or binds the channel"),
        (Client(BINDS, b"SCRAM-SHA-256-PLUS"), "was not offered"),
        (Client(mechanism=b"PLAIN"), "was not offered"),
        (Client(b"n,a=owner,"), "cannot be read"),
        (Client(b"x,,"), "cannot be read"),
        (Client(b"n"), "cannot be read"),
        (Client(bare=b"m=new," + BARE), "cannot be read"),
        (Client(bare=b"n="), "is missing"),
        # What was signed is another header than what was announced.
        (Client(changed=lambda last: last.replace(b"biws", b"eSws")), "not the one that was announced"),
        (Client(changed=lambda last: last.replace(b"biws", b"biw")), "cannot be read"),
    ],
)
def test_what_is_no_scram_is_refused_in_words(client: Client, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        login(client)


@pytest.mark.parametrize(
    "client",
    [
        Client(password="wrong horse battery"),
        Client(changed=lambda last: last[:-1]),
        Client(changed=lambda last: last + b"x"),
        Client(changed=lambda last: last.partition(b",r=")[0] + b",r=abcdefghijkl"),
    ],
)
def test_a_wrong_password_or_nonce_is_refused_and_nothing_is_told(client: Client) -> None:
    with pytest.raises(scram.WrongPasswordError):
        login(client)
    assert len(client.asked) == 2


def test_a_proof_is_worth_nothing_in_another_connection() -> None:
    first = Client()
    login(first)

    class Again(Client):
        def answer(self) -> bytes:
            self.said.append(first.said[len(self.said)])
            return self.said[-1]

    with pytest.raises(scram.WrongPasswordError):
        login(Again())


def test_users_who_are_not_there_look_like_the_one_who_is() -> None:
    """The salt is theirs, and the same every time; the right password does not help them."""
    salts = []
    for name in ("nobody", "nobody", "else"):
        client = Client()
        with pytest.raises(scram.WrongPasswordError):
            login(client, known=scram.unknown_user(name, b"secret"))
        salts.append(client.asked[1].partition(b",s=")[2])
    assert salts[0] == salts[1] != salts[2]
    real = Client()
    login(real)
    assert len(real.asked[1]) == len(client.asked[1])


@pytest.mark.slow
def test_libpq_logs_in_by_tls_unless_it_requires_channel_binding(visits: Made, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "-newkey", "rsa:2048")
    with running(visits.path, cert=cert, key=key) as server:
        about: dict[str, Any] = {"sslmode": "verify-full", "sslrootcert": str(cert)}
        for wanted in ("prefer", "disable"):
            with server.connect(**about, channel_binding=wanted) as con:
                assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]
        with server.connect(sslmode="disable") as con:
            assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]
        with pytest.raises(psycopg.OperationalError, match="channel binding"):
            server.connect(**about, channel_binding="require")
