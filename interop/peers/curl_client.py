"""A client on libcurl's API, over HTTP/3 alone."""

import argparse
import io
import json
import os
import sys
import urllib.parse

import pycurl

CIPHERS = {
    "aes-128-gcm": "TLS_AES_128_GCM_SHA256",
    "aes-256-gcm": "TLS_AES_256_GCM_SHA384",
    "chacha20-poly1305": "TLS_CHACHA20_POLY1305_SHA256",
}
# What CURLINFO_HTTP_VERSION gives for HTTP/3.
HTTP_3 = pycurl.CURL_HTTP_VERSION_3


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


class Transfer:
    def __init__(self, options, url, share):
        self.url = url
        self.options = options
        self.body = io.BytesIO()
        self.headers = {}
        self.file = None
        curl = self.curl = pycurl.Curl()
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_3ONLY)
        curl.setopt(pycurl.CAINFO, options.ca)
        curl.setopt(pycurl.RESOLVE, options.resolve)
        curl.setopt(pycurl.WRITEDATA, self.body)
        curl.setopt(pycurl.HEADERFUNCTION, self.header)
        curl.setopt(pycurl.CONNECTTIMEOUT, 20)
        curl.setopt(pycurl.TIMEOUT, options.patience)
        curl.setopt(pycurl.NOPROXY, "*")
        # Streams of the one connection rather than connections.
        curl.setopt(pycurl.PIPEWAIT, 1)
        if share is not None:
            curl.setopt(pycurl.SHARE, share)
        if options.cipher:
            curl.setopt(pycurl.TLS13_CIPHERS, CIPHERS[options.cipher])
        if options.fresh:
            curl.setopt(pycurl.FORBID_REUSE, 1)
            curl.setopt(pycurl.FRESH_CONNECT, 1)
        if options.early:
            curl.setopt(pycurl.SSL_OPTIONS, pycurl.SSLOPT_EARLYDATA)
        if options.head:
            curl.setopt(pycurl.NOBODY, 1)
        if options.range:
            curl.setopt(pycurl.RANGE, options.range)
        if options.upload:
            self.file = open(options.upload, "rb")
            curl.setopt(pycurl.UPLOAD, 1)
            curl.setopt(pycurl.READDATA, self.file)
            curl.setopt(pycurl.INFILESIZE, os.path.getsize(options.upload))

    def header(self, line):
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            self.headers[name.strip().lower()] = value.strip()

    def check(self):
        status, version = self.curl.getinfo(pycurl.RESPONSE_CODE), self.curl.getinfo(pycurl.INFO_HTTP_VERSION)
        report = {"url": self.url, "status": status, "version": version, "headers": self.headers}
        report["bytes"] = len(self.body.getvalue())
        report["connections"] = self.curl.getinfo(pycurl.NUM_CONNECTS)
        if self.options.early:
            report["early_data"] = self.curl.getinfo(pycurl.EARLYDATA_SENT_T)
        say("response", **report)
        if version != HTTP_3 or not 200 <= status < 300:
            raise RuntimeError(f"{self.url}: status {status}, HTTP version {version}")
        name = urllib.parse.urlsplit(self.url).path.rsplit("/", 1)[-1]
        with open(os.path.join(self.options.out, name), "wb") as file:
            file.write(self.body.getvalue())
        self.curl.close()


def all_at_once(transfers):
    """Over one connection: never more at a time than servers commonly grant streams, or libcurl opens another."""
    multi = pycurl.CurlMulti()
    multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
    by_handle = {transfer.curl: transfer for transfer in transfers}
    waiting, active = list(transfers), 0
    while waiting or active:
        while waiting and active < 50:
            multi.add_handle(waiting.pop(0).curl)
            active += 1
        multi.perform()
        queued = 1
        while queued:
            queued, done, failed = multi.info_read()
            for handle in done:
                multi.remove_handle(handle)
                by_handle[handle].check()
                active -= 1
            for _, code, text in failed:
                raise RuntimeError(f"{code}: {text}")
        if active:
            multi.select(0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ca", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--resolve", action="append", default=[])
    parser.add_argument("--cipher", choices=CIPHERS)
    parser.add_argument("--fresh", action="store_true", help="a connection for each URL; they share sessions")
    parser.add_argument("--early", action="store_true", help="send requests as early data")
    parser.add_argument("--head", action="store_true")
    parser.add_argument("--range")
    parser.add_argument("--upload", help="the file to upload")
    parser.add_argument("--patience", type=int, default=60)
    parser.add_argument("urls", nargs="+")
    options = parser.parse_args()
    say("version", version=pycurl.version)
    if options.fresh or len(options.urls) == 1:
        share = pycurl.CurlShare()
        share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        for url in options.urls:
            transfer = Transfer(options, url, share)
            transfer.curl.perform()
            transfer.check()
    else:
        all_at_once([Transfer(options, url, None) for url in options.urls])
    say("done", files=len(options.urls))


if __name__ == "__main__":
    try:
        main()
    except (pycurl.error, RuntimeError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
