"""The process that keeps a study's store, in which workers find each other.

A child of the fork server like any worker: the head itself never loads torch, and the store outlives every rank. It
keeps nothing but addresses, and listens on the loopback device only where the pool has a single node.
"""

from __future__ import annotations

import socket

from .link import Link

LOOPBACK = "127.0.0.1"


def keep_store(link: Link, host: str) -> None:
    """Open a store, tell the agent its port, and keep it until the agent goes.

    Args:
        host: the address that other nodes reach this one by, "" where there are none.
    """
    from torch._C._distributed_c10d import TCPStore

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host or LOOPBACK, 0), family=family, backlog=128) as listening:
        port = listening.getsockname()[1]
        kept = TCPStore(
            host or LOOPBACK, port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach()
        )
        link.send("store", port=port)
        link.receive("never")  # ends with LinkClosed
        del kept
