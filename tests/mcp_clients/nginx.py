"""An nginx of our own with TLS in front of a server, as people deploy it."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

from tests.set_up import SetUpFailed

# A connection on which nothing came for so long is cut. Nginx's own default is a minute.
SILENCE_S = 20
_TIMEOUT_S = 15

# Buffering stays on, as it is by default: the server must ask for none where it streams.
_CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        server_name localhost;
        ssl_certificate {folder}/server.pem;
        ssl_certificate_key {folder}/server.key;
        location / {{
            proxy_pass http://127.0.0.1:{upstream};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_read_timeout {silence_s}s;
        }}
    }}
}}
"""


class Nginx:
    """One process that takes TLS on `port` and passes on to `upstream`, both on loopback."""

    def __init__(self, folder: Path, port: int, upstream: int) -> None:
        self.folder, self.port, self.upstream = folder, port, upstream

    def __enter__(self) -> Nginx:
        program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if program is None:
            raise SetUpFailed("nginx", "it is not installed; scripts/ensure-nginx says why")
        self._make_certificates()
        configuration = self.folder / "nginx.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                folder=self.folder, port=self.port, upstream=self.upstream, silence_s=SILENCE_S
            )
        )
        self._log = self.folder / "nginx.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [program, "-e", "stderr", "-p", str(self.folder), "-c", str(configuration)],
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        deadline = time.monotonic() + _TIMEOUT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise AssertionError(f"nginx did not start:\n{self._log.read_text()}")
            time.sleep(0.02)
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.terminate()
        self._process.wait(_TIMEOUT_S)

    @property
    def url(self) -> str:
        """The MCP endpoint as the world sees it."""
        return f"https://localhost:{self.port}/mcp"

    def trust(self) -> ssl.SSLContext:
        """What a client needs to believe the certificate."""
        return ssl.create_default_context(cafile=str(self.folder / "authority.pem"))

    def _answers(self) -> bool:
        connection = http.client.HTTPSConnection("localhost", self.port, context=self.trust())
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status > 0
        except ConnectionRefusedError:
            return False
        finally:
            connection.close()

    def _make_certificates(self) -> None:
        """An authority, and the certificate that it gives to localhost."""
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        self._openssl("authority", *key, "-subj", "/CN=An authority for tests")
        issued = ["-CA", f"{self.folder}/authority.pem", "-CAkey", f"{self.folder}/authority.key"]
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        plain = ["-addext", "basicConstraints=critical,CA:FALSE"]
        self._openssl("server", *key, "-subj", "/CN=localhost", *issued, *names, *plain)

    def _openssl(self, name: str, *words: str) -> None:
        files = ["-keyout", f"{self.folder}/{name}.key", "-out", f"{self.folder}/{name}.pem"]
        subprocess.run(["openssl", "req", "-x509", *words, *files], check=True, capture_output=True)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
