"""A client on aioquic's API: fetches files over HTTP/3 or HTTP/0.9 and says in lines of JSON what happened."""

import argparse
import asyncio
import json
import os
import ssl
import time
import urllib.parse

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamDataReceived, StreamReset
from aioquic.tls import CipherSuite

CIPHERS = {
    "aes-128-gcm": CipherSuite.AES_128_GCM_SHA256,
    "aes-256-gcm": CipherSuite.AES_256_GCM_SHA384,
    "chacha20-poly1305": CipherSuite.CHACHA20_POLY1305_SHA256,
}


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


class Response:
    def __init__(self):
        self.headers = []
        self.body = bytearray()
        self.done = asyncio.get_running_loop().create_future()

    def finish(self, error=None):
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(RuntimeError(error))


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None
        self.responses = {}

    def use(self, alpn):
        if alpn == "h3":
            self.http = H3Connection(self._quic)

    def request(self, method, authority, path, headers=(), body=b""):
        stream = self._quic.get_next_available_stream_id()
        response = self.responses[stream] = Response()
        if self.http is None:
            self._quic.send_stream_data(stream, f"{method} {path}\r\n".encode(), True)
        else:
            fields = [(b":method", method), (b":scheme", "https"), (b":authority", authority), (b":path", path)]
            fields = [(name, value.encode()) for name, value in fields]
            fields += [(name.encode(), value.encode()) for name, value in headers]
            self.http.send_headers(stream, fields, end_stream=not body)
            if body:
                self.http.send_data(stream, body, end_stream=True)
        self.transmit()
        return response

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            cipher = self._quic.tls.key_schedule.cipher_suite.name
            say("handshake", alpn=event.alpn_protocol, resumed=event.session_resumed,
                early_data=event.early_data_accepted, cipher=cipher)
        elif isinstance(event, ConnectionTerminated):
            for response in self.responses.values():
                response.finish(f"connection closed: {event.error_code:#x} {event.reason_phrase}")
        elif isinstance(event, StreamReset) and event.stream_id in self.responses:
            self.responses[event.stream_id].finish(f"stream reset: {event.error_code:#x}")
        if self.http is not None:
            for event in self.http.handle_event(event):
                response = self.responses.get(getattr(event, "stream_id", None))
                if response is None:
                    continue
                if isinstance(event, HeadersReceived):
                    response.headers += event.headers
                elif isinstance(event, DataReceived):
                    response.body += event.data
                if event.stream_ended:
                    response.finish()
        elif isinstance(event, StreamDataReceived) and event.stream_id in self.responses:
            response = self.responses[event.stream_id]
            response.body += event.data
            if event.end_stream:
                response.finish()


class Run:
    def __init__(self, options):
        self.options = options
        self.ticket = None
        self.url = urllib.parse.urlsplit(options.urls[0])

    def configuration(self, early):
        options = self.options
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=[options.alpn],
            max_data=8 << 20,
            max_stream_data=4 << 20,
            server_name=self.url.hostname,
            verify_mode=ssl.CERT_REQUIRED,
        )
        configuration.load_verify_locations(options.ca)
        if options.cipher:
            configuration.cipher_suites = [CIPHERS[options.cipher]]
        if options.negotiate:
            # A version that is reserved to be answered with Version Negotiation (RFC 9000 section 15).
            configuration.supported_versions = [0x1A2A3A4A, 1]
            configuration.original_version = 0x1A2A3A4A
        if options.keylog:
            configuration.secrets_log_file = open(options.keylog, "a", buffering=1)
        configuration.session_ticket = self.ticket
        return configuration

    async def connection(self, urls, early=False):
        options = self.options
        got_ticket = asyncio.Event()

        def keep(ticket):
            self.ticket = ticket
            got_ticket.set()

        async with connect(
            options.connect,
            options.port,
            configuration=self.configuration(early),
            create_protocol=Client,
            session_ticket_handler=keep,
            wait_connected=not early,
        ) as client:
            client.use(options.alpn)
            responses = [self.start(client, url) for url in urls]
            if early:
                await client.wait_connected()
            if options.key_update:
                # Once the handshake is confirmed, and some data has come.
                await asyncio.sleep(0.1)
                client.request_key_update()
                await client.ping()
                say("keys updated")
            if options.migrate or options.rebind:
                await asyncio.sleep(0.1)
                await self.change_port(client)
            for url, response in zip(urls, responses):
                await asyncio.wait_for(response.done, options.patience)
                self.check(url, response)
            if options.session:
                await asyncio.wait_for(got_ticket.wait(), 5)

    def start(self, client, url):
        parts = urllib.parse.urlsplit(url)
        return client.request(self.options.method, parts.netloc, parts.path, self.options.header, self.body())

    def body(self):
        if self.options.data is None:
            return b""
        with open(self.options.data, "rb") as file:
            return file.read()

    def check(self, url, response):
        headers = {name.decode(): value.decode() for name, value in response.headers}
        if self.options.alpn == "h3":
            say("response", url=url, headers=headers, bytes=len(response.body))
            status = headers.get(":status", "")
            if not status.startswith("2"):
                raise RuntimeError(f"{url}: status {status}")
        name = urllib.parse.urlsplit(url).path.rsplit("/", 1)[-1]
        with open(os.path.join(self.options.out, name), "wb") as file:
            file.write(response.body)

    async def change_port(self, client):
        """Goes on from another port; where it does so on purpose, with another connection ID."""
        if self.options.migrate:
            client.change_connection_id()
        loop = asyncio.get_running_loop()
        before = client._transport
        await loop.create_datagram_endpoint(lambda: client, local_addr=("::", 0))
        before.close()
        await client.ping()
        say("port changed")

    async def run(self):
        urls = self.options.urls
        if self.options.session:
            await self.connection(urls[:1])
            self.options.key_update = False
            await self.connection(urls[1:], early=self.options.session == "early")
        elif self.options.each:
            for url in urls:
                await self.connection([url])
        else:
            await self.connection(urls)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--connect", required=True, help="the server's address")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--out", required=True, help="the folder for what is fetched")
    parser.add_argument("--alpn", default="h3")
    parser.add_argument("--cipher", choices=CIPHERS)
    parser.add_argument("--session", choices=["resume", "early"], help="fetch all but the first over a second connection")
    parser.add_argument("--each", action="store_true", help="a connection for each URL")
    parser.add_argument("--key-update", action="store_true")
    parser.add_argument("--migrate", action="store_true", help="go on from another port, with another connection ID")
    parser.add_argument("--rebind", action="store_true", help="go on from another port as if unaware of it")
    parser.add_argument("--negotiate", action="store_true", help="offer a version first that no server knows")
    parser.add_argument("--method", default="GET")
    parser.add_argument("--header", action="append", default=[], type=lambda text: text.split(": ", 1))
    parser.add_argument("--data", help="the file to upload")
    parser.add_argument("--keylog")
    parser.add_argument("--patience", type=float, default=60)
    parser.add_argument("urls", nargs="+")
    options = parser.parse_args()
    began = time.monotonic()
    asyncio.run(Run(options).run())
    say("done", files=len(options.urls), seconds=round(time.monotonic() - began, 3))


if __name__ == "__main__":
    main()
