"""SCRAM as an attacker would speak it: wrong nonces, old proofs, bindings that are promised and not kept."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.releases import Made
from support.serving import SECRET, certificate, running

from sqlpriv.apps.server import scram
from sqlpriv.apps.server.messages import ProtocolError
from sqlpriv.apps.server.scram import certificate_hash

pytestmark = pytest.mark.one_version

KNOWN = scram.make_verifier("analyst", SECRET)
BARE = b"n=,r=abcdefghijkl"
PLAIN, PLUS = b"SCRAM-SHA-256", b"SCRAM-SHA-256-PLUS"
END_POINT = b"the hash of a certificate"
BINDS = b"p=tls-server-end-point,,"


class Client:
    """Proves the password; `header` is what it says of the channel, `seen` what it has seen of it."""

    def __init__(
        self,
        header: bytes = b"n,,",
        mechanism: bytes = PLAIN,
        seen: bytes = b"",
        password: str = SECRET,
        changed: Callable[[bytes], bytes] = lambda last: last,
        bare: bytes = BARE,
    ) -> None:
        self._header, self._mechanism, self._seen, self._password = header, mechanism, seen, password
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
        without = self._changed(b"c=" + base64.b64encode(self._header + self._seen) + b",r=" + given[b"r"])
        signature = hmac.digest(hashlib.sha256(key).digest(), b",".join((self._bare, second, without)), "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return without + b",p=" + base64.b64encode(proof)


def login(client: Any, bound: bytes | None = None, known: scram.Verifier = KNOWN) -> None:
    scram.authenticate(known, client.ask, client.answer, bound)


def test_a_client_proves_its_password_and_where_it_can_the_channel() -> None:
    login(Client())
    login(Client(b"y,,"))
    login(Client(b"n,,"), END_POINT)
    login(Client(BINDS, PLUS, END_POINT), END_POINT)


@pytest.mark.parametrize(
    ("client", "bound", "said"),
    [
        # The client could bind, and somebody took that from the list of what we offer.
        (Client(b"y,,"), END_POINT, "somebody may be in between"),
        (Client(BINDS, PLAIN, END_POINT), END_POINT, "propose SCRAM-SHA-256-PLUS"),
        (Client(BINDS, PLUS, END_POINT), None, "was not offered"),
        (Client(b"n,,", PLUS), END_POINT, "by tls-server-end-point alone"),
        (Client(b"p=tls-unique,,", PLUS, END_POINT), END_POINT, "by tls-server-end-point alone"),
        (Client(BINDS, PLUS, b"the hash of another"), END_POINT, "not to this server"),
        (Client(BINDS, PLUS), END_POINT, "not to this server"),
        (Client(mechanism=b"PLAIN"), None, "was not offered"),
        (Client(b"n,a=owner,"), None, "cannot be read"),
        (Client(b"x,,"), None, "cannot be read"),
        (Client(b"n"), None, "cannot be read"),
        (Client(bare=b"m=new," + BARE), None, "cannot be read"),
        (Client(bare=b"n="), None, "is missing"),
        # What was signed is another header than what was announced.
        (Client(changed=lambda last: last.replace(b"biws", b"eSws")), None, "not the one that was announced"),
        (Client(changed=lambda last: last.replace(b"biws", b"biw")), None, "cannot be read"),
    ],
)
def test_what_is_no_scram_is_refused_in_words(client: Client, bound: bytes | None, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        login(client, bound)


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


EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ((*EC, "-sha256"), "sha256"), ((*EC, "-sha384"), "sha384"), ((*EC, "-sha512"), "sha512"),
        (("-newkey", "rsa:2048", "-sha256"), "sha256"), (("-newkey", "ed25519"), None),
    ],
)  # fmt: skip
def test_a_certificate_is_hashed_as_it_was_signed(tmp_path: Path, kind: tuple[str, ...], name: str | None) -> None:
    cert, _ = certificate(tmp_path, *kind)
    asked = ["openssl", "x509", "-in", str(cert), "-outform", "DER"]
    der = subprocess.run(asked, check=True, capture_output=True).stdout
    assert certificate_hash(cert) == (None if name is None else hashlib.new(name, der).digest())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [(*EC, "-sha384"), ("-newkey", "ed25519")])
def test_libpq_binds_the_channel_where_it_can_be_bound(visits: Made, tmp_path: Path, kind: tuple[str, ...]) -> None:
    cert, key = certificate(tmp_path, *kind)
    can = certificate_hash(cert) is not None
    with running(visits.path, cert=cert, key=key) as server:
        about: dict[str, Any] = {"sslmode": "verify-full", "sslrootcert": str(cert)}
        for wanted in ("prefer", "disable") if not can else ("require", "prefer", "disable"):
            with server.connect(**about, channel_binding=wanted) as con:
                assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]
        with server.connect(sslmode="disable") as con:
            assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]
        if not can:
            with pytest.raises(psycopg.OperationalError, match="channel binding"):
                server.connect(**about, channel_binding="require")
