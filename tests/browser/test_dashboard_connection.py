"""What becomes of an open page when the line is cut, the server goes, or a proxy stands in front."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from selenium import webdriver
from tests.browser.conftest import dashboard, logged_in
from tests.browser.odd_studies import one_trial, write_odd_studies
from tests.browser.steps import complaints, opened, text_of, waited

from shoal.search.journal.sqlite import SqliteJournal
from shoal.spaces import Space


class Line:
    """A proxy on the loopback address that can be cut and mended."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Every connection is gone, and new ones are closed at once."""
        self._is_cut = True
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._to))
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError), closing(sink):
        while part := source.recv(1 << 16):
            sink.sendall(part)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A data directory with the odd studies."""
    write_odd_studies(tmp_path)
    return tmp_path


@contextmanager
def added(data: Path, number: int) -> Iterator[None]:
    """One more trial ends in the study "no-parameters" while the block runs."""
    journal = SqliteJournal(data / "journal.db")
    try:
        journal.append("no-parameters", one_trial(Space(), number, "completed", 0.9))
        journal.commit()
        yield
    finally:
        journal.close()


def test_a_page_that_was_cut_off_catches_up_without_a_reload(browser: webdriver.Chrome, odd: Path) -> None:
    """As a laptop does that was shut for an hour: what happened meanwhile is on the page, once the line is back."""
    with dashboard(odd, "--allow-host", "127.0.0.1:1") as probe:
        port = int(probe.split(":")[2].split("/")[0])
    line = Line(port)
    try:
        with dashboard(odd, "--allow-host", f"127.0.0.1:{line.port}", port=port) as address:
            base = logged_in(browser, address.replace(f":{port}", f":{line.port}"))
            opened(browser, f"{base}/study?study=no-parameters")
            waited(browser, lambda b: text_of(b, "#connection") == "live")
            assert "2 of 7" in text_of(browser, "#facts")
            browser.execute_script("window.notReloaded = true")
            line.cut()
            waited(browser, lambda b: text_of(b, "#connection") != "live")
            with added(odd, 2):
                line.mend()
                waited(browser, lambda b: text_of(b, "#connection") == "live")
                waited(browser, lambda b: "3 of 7" in text_of(b, "#facts"))
            assert browser.execute_script("return window.notReloaded")
    finally:
        line.close()
        browser.get_log("browser")


def test_a_server_that_was_started_again_asks_for_its_code(browser: webdriver.Chrome, odd: Path) -> None:
    with dashboard(odd) as address:
        base = logged_in(browser, address)
        opened(browser, f"{base}/study?study=choices")
        waited(browser, lambda b: text_of(b, "#connection") == "live")
        port = int(base.rsplit(":", 1)[1])
    waited(browser, lambda b: text_of(b, "#connection") != "live")
    with dashboard(odd, port=port):
        waited(browser, lambda b: b.current_url.endswith("/login"))
    browser.get_log("browser")


def test_pages_work_under_a_path_prefix(browser: webdriver.Chrome, odd: Path) -> None:
    with dashboard(odd, "--prefix", "/user/me/proxy/1") as address:
        browser.get_log("browser")
        base = logged_in(browser, address)
        assert base.endswith("/user/me/proxy/1")
        opened(browser, f"{base}/study?study=choices")
        waited(browser, lambda b: text_of(b, "#connection") == "live")
        browser.find_element("link text", "Pool").click()
        waited(browser, lambda b: b.current_url == f"{base}/pool" and "Devices" in text_of(b))
        assert complaints(browser) == []
