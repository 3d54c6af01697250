"""The process that keeps a study's store, in which workers find each other.

A child of the fork server like any worker: the head itself never loads torch, and the store outlives every rank. It
listens on the loopback device only, and keeps nothing but addresses.
"""

from __future__ import annotations

import socket

from .link import Link


def keep_store(link: Link) -> None:
    """Open a store, tell the agent its port, and keep it until the agent goes."""
    from torch._C._distributed_c10d import TCPStore

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        port = listening.getsockname()[1]
        kept = TCPStore(
            "127.0.0.1", port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach()
        )
        link.send("store", port=port)
        link.receive("never")  # ends with LinkClosed
        del kept
