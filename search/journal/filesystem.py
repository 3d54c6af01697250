"""Where a SQLite journal must not lie: on file systems that other machines share.

SQLite's write-ahead log needs memory shared between its users, and its locks need a file system that keeps them;
network file systems give the first never and the second not always (https://www.sqlite.org/useovernet.html).
"""

from __future__ import annotations

from pathlib import Path

from ...errors import JournalError

NETWORK_TYPES = frozenset(
    {
        "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs",
        "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs",
    }
)  # fmt: skip


def refuse_network_file_system(journal: Path, mountinfo: str | None = None) -> None:
    """Raise where `journal` would lie on a network file system.

    Args:
        journal: the file, which need not exist.
        mountinfo: the text of /proc/self/mountinfo; None reads it (where there is none, nothing is refused).

    Raises:
        JournalError: it lies on one; the message names its type.
    """
    if mountinfo is None:
        try:
            mountinfo = Path("/proc/self/mountinfo").read_text()
        except OSError:
            return
    kind = _file_system_type(journal.absolute(), mountinfo)
    if kind in NETWORK_TYPES:
        raise JournalError(
            f"{journal} lies on a network file system ({kind}), where SQLite can lose data.",
            "Choose a folder on a local disk with --data.",
        )


def _file_system_type(path: Path, mountinfo: str) -> str:
    """The type of the file system mounted nearest above `path`: see proc(5)."""
    nearest, kind = Path(), ""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        mount_point = Path(before.split()[4].encode().decode("unicode_escape"))
        if path.is_relative_to(mount_point) and len(mount_point.parts) >= len(nearest.parts):
            nearest, kind = mount_point, after.split()[0]
    return kind
