"""A server on aioquic's API: the files of a folder over HTTP/3 and HTTP/0.9."""

import argparse
import asyncio
import json
import os

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated, StreamDataReceived

from aioquic_client import CIPHERS


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


class Server(QuicConnectionProtocol):
    options = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None
        self.requests = {}

    def read(self, path):
        """The content of a file in the folder that is served; None if there is none."""
        root = os.path.realpath(self.options.root)
        full = os.path.realpath(os.path.join(root, path.lstrip("/")))
        if os.path.isdir(full):
            full = os.path.join(full, "index.html")
        if not full.startswith(root + os.sep) or not os.path.isfile(full):
            return None
        with open(full, "rb") as file:
            return file.read()

    def answer(self, stream):
        headers, body = self.requests.pop(stream)
        method = headers[":method"]
        if method in ("POST", "PUT"):
            say("upload", bytes=len(body))
            self.respond(stream, 200, [], f"{len(body)}\n".encode())
            return
        content = self.read(headers[":path"])
        if content is None:
            self.respond(stream, 404, [], b"")
            return
        status, more = 200, [("accept-ranges", "bytes")]
        total = len(content)
        first, _, last = headers.get("range", "").removeprefix("bytes=").partition("-")
        if first.isdigit():
            begin, end = int(first), int(last) if last.isdigit() else total - 1
            status = 206
            content = content[begin : end + 1]
            more.append(("content-range", f"bytes {begin}-{begin + len(content) - 1}/{total}"))
        more.append(("content-length", str(len(content))))
        self.respond(stream, status, more, b"" if method == "HEAD" else content)

    def respond(self, stream, status, headers, body):
        fields = [(b":status", str(status).encode())]
        fields += [(name.encode(), value.encode()) for name, value in headers]
        self.http.send_headers(stream, fields, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.transmit()

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            if event.alpn_protocol == "h3":
                self.http = H3Connection(self._quic)
        elif isinstance(event, HandshakeCompleted):
            say("handshake", alpn=event.alpn_protocol, resumed=event.session_resumed,
                early_data=event.early_data_accepted, cipher=self._quic.tls.key_schedule.cipher_suite.name)
            if self.options.key_update:
                asyncio.get_running_loop().call_later(0.1, self.update_keys)
        elif isinstance(event, ConnectionTerminated):
            say("closed", code=event.error_code, reason=event.reason_phrase)
        if self.http is not None:
            for event in self.http.handle_event(event):
                if isinstance(event, HeadersReceived) and event.stream_id not in self.requests:
                    headers = {name.decode(): value.decode() for name, value in event.headers}
                    self.requests[event.stream_id] = (headers, bytearray())
                elif isinstance(event, DataReceived) and event.stream_id in self.requests:
                    self.requests[event.stream_id][1].extend(event.data)
                if getattr(event, "stream_ended", False) and event.stream_id in self.requests:
                    self.answer(event.stream_id)
        elif isinstance(event, StreamDataReceived):
            line = self.requests.setdefault(event.stream_id, bytearray())
            line += event.data
            if event.end_stream:
                words = self.requests.pop(event.stream_id).decode().split()
                content = self.read(words[1]) if len(words) == 2 and words[0] == "GET" else None
                self._quic.send_stream_data(event.stream_id, content or b"", True)
                self.transmit()

    def update_keys(self):
        self.request_key_update()
        self.transmit()
        say("keys updated")


async def run(options):
    Server.options = options
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=["h3", "hq-interop"],
        max_data=8 << 20,
        max_stream_data=4 << 20,
    )
    configuration.load_cert_chain(options.cert, options.key)
    if options.cipher:
        configuration.cipher_suites = [CIPHERS[options.cipher]]
    if options.keylog:
        configuration.secrets_log_file = open(options.keylog, "a", buffering=1)
    tickets = {}
    await serve(
        options.listen,
        options.port,
        configuration=configuration,
        create_protocol=Server,
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.__setitem__(ticket.ticket, ticket),
        retry=options.retry,
    )
    say("listening")
    await asyncio.Future()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--cipher", choices=CIPHERS)
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--key-update", action="store_true")
    parser.add_argument("--keylog")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
