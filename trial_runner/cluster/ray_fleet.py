"""The transport over Ray: a detached, named actor a node, which holds the node's GPUs. Only this module loads ray.

The actor does nothing but pass calls on to an `AgentHost`; Ray's own view of what is alive is too slow (a killed node
is given up after some 14 s, a frozen one after a minute) and only taken when it says that an actor has gone for good.
An archive of code goes into the object store once, and from there to each node once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ...errors import PoolError
from ..messages import Instruction, PrepareStudy
from .agent_host import LEASE_S, AgentHost
from .ports import AgentDead, AgentSilent, Holder, News, NodeFacts, Refused, Welcome

NAMESPACE = "shoal"
PREFIX = "shoal-agent-"
AGENT_DIR = "SHOAL_AGENT_DIR"

CALLS_AT_ONCE = 16
"""Threads of an actor: a poll that waits holds one for half a second, and a head that has been replaced may have left
some behind."""

KNOCK_S = 5.0

REGISTRATION_S = 20.0
"""How long a cluster that answers may take until its first node can be joined; on a busy machine some seconds."""

HINT = "Look with `ray status --address HOST:PORT`; `--ray start` starts a cluster on this machine."

MAX_WISH = 4096  # devices; above any cluster that grows by itself

MODEL_LABEL = "ray.io/accelerator-type"

Ray = Any  # the `ray` module, its handles and references: it has no types for them

FactsOf = Callable[[str, int, int, str], NodeFacts]
"""Asked on the node: (its name, GPUs and CPUs that Ray counts there, device model by Ray's label) → what it offers."""


class RayAgent:
    """The actor."""

    def __init__(
        self, node: str, gpus: int, cpus: int, model: str, facts_of: FactsOf, lease_s: float, stay: bool
    ) -> None:
        import ray

        self._actor = ray.get_runtime_context().current_actor
        base = os.environ.get(AGENT_DIR) or os.path.join(tempfile.gettempdir(), f"shoal-agents-{os.getuid()}")
        self._data_dir = Path(base) / node
        facts = replace(facts_of(node, gpus, cpus, model), host=str(ray.util.get_node_ip_address()))  # type: ignore[no-untyped-call]
        self._host = AgentHost(facts, self._data_dir, lease_s=lease_s, stay=stay, gone=self._gone)

    def facts(self) -> NodeFacts:
        return self._host.facts

    def hello(self, holder: Holder, fresh: bool) -> Welcome | Refused:
        return self._host.hello(holder, fresh=fresh)

    def poll(self, session: int, since: int, done: int, wait_s: float) -> News:
        return self._host.poll(session, since, done, wait_s)

    def perform(
        self, session: int, batch: int, instructions: tuple[Instruction, ...], code: Mapping[str, list[Ray]]
    ) -> None:
        import ray

        archives: dict[str, bytes] = {}
        for sha, references in code.items():
            if not self._host.has_code(sha):
                archives |= {sha: bytes(ray.get(references[0]))}
        self._host.perform(session, batch, instructions, archives)

    def leave(self, session: int) -> None:
        self._host.leave(session)

    def stop(self) -> None:
        self._host.stop()

    def drain(self, wanted: bool) -> None:
        self._host.drain(wanted=wanted)

    def state(self) -> dict[str, Any]:
        return self._host.state()

    def _gone(self) -> None:
        """With the process Ray's reservation of the GPUs ends."""
        import ray

        shutil.rmtree(self._data_dir, ignore_errors=True)
        ray.kill(self._actor)


class RayLink:
    """Implements `AgentLink`."""

    def __init__(self, actor: Ray, code: CodeShelf) -> None:
        self._actor = actor
        self._code = code
        self._hello: Ray | None = None

    def hello(self, holder: Holder, *, fresh: bool, timeout_s: float) -> Welcome | Refused:
        import ray

        self._hello = self._hello or self._actor.hello.remote(holder, fresh)
        ready, _ = ray.wait([self._hello], timeout=timeout_s)
        if not ready:
            raise AgentSilent(f"no answer in {timeout_s:g} s")
        said, self._hello = self._hello, None
        answer: Welcome | Refused = _answer(said, timeout_s)
        return answer

    def poll(self, session: int, *, since: int, done: int, wait_s: float, timeout_s: float) -> News:
        news: News = _answer(self._actor.poll.remote(session, since, done, wait_s), timeout_s)
        return news

    def perform(self, session: int, batch: int, instructions: Sequence[Instruction]) -> None:
        from ray.exceptions import RayError

        try:
            code = {
                told.code: [self._code.reference(told.code, told.archive)]
                for told in instructions if isinstance(told, PrepareStudy) and told.archive is not None
            }
            self._actor.perform.remote(session, batch, tuple(instructions), code)
        except RayError as error:  # the object store is full, the cluster does not answer
            raise AgentSilent(str(error)) from None

    def leave(self, session: int, *, timeout_s: float) -> None:
        _answer(self._actor.leave.remote(session), timeout_s)


class CodeShelf:
    """Archives in the object store, by their hash; kept there as long as this head lives."""

    def __init__(self) -> None:
        self._references: dict[str, Ray] = {}

    def reference(self, sha: str, archive: Path) -> Ray:
        """Where an archive is; it is put there the first time."""
        import ray

        if sha not in self._references:
            self._references[sha] = ray.put(archive.read_bytes())
        return self._references[sha]


class RayFleet:
    """The nodes of the cluster that this process is connected to.

    Args:
        facts_of: see `FactsOf`; sent to the nodes by name, so it has to be importable there.
        lease_s: how long an agent goes on without a head.
        stay: keep agents for other heads (`shoal pool up`).
    """

    def __init__(self, facts_of: FactsOf, *, lease_s: float = LEASE_S, stay: bool = False) -> None:
        self._facts_of = facts_of
        self._lease_s = lease_s
        self._stay = stay
        self._code = CodeShelf()
        self._alive: dict[str, Any] = {}

    def nodes(self) -> Sequence[str]:
        """Nodes with GPUs; in a cluster without any, nodes with CPUs."""
        return list(self._rows())

    def agent(self, node: str) -> RayLink:
        return RayLink(self._actor(node), self._code)

    def wish(self, kind: Literal["GPU", "CPU"], devices: int) -> None:
        """Ray's autoscaler makes room for so many, and takes nodes away again when they are no longer wished for; a
        cluster of a fixed size takes no notice."""
        from ray.autoscaler.sdk import request_resources

        request_resources(bundles=[{kind: 1}] * min(devices, MAX_WISH))

    def call(self, node: str, method: str, *args: Any, timeout_s: float = 20.0) -> Any:
        """Ask a node's agent something that is not part of a head's work.

        Raises:
            AgentSilent, AgentDead: also where there is no agent.
        """
        import ray

        try:
            actor = ray.get_actor(PREFIX + node, namespace=NAMESPACE)
        except ValueError:
            raise AgentDead(f"no agent on {node}") from None
        return _answer(getattr(actor, method).remote(*args), timeout_s)

    def _rows(self) -> dict[str, Any]:
        import ray
        from ray.exceptions import RayError

        with contextlib.suppress(RayError, ConnectionError):  # while Ray's own head is away nodes neither come nor go
            rows: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
            self._alive = {node_name(row): row for row in rows if row["Alive"]}
        with_gpus = {name: row for name, row in self._alive.items() if row["Resources"].get("GPU", 0) >= 1}
        return with_gpus or {n: row for n, row in self._alive.items() if row["Resources"].get("CPU", 0) >= 1}

    def _actor(self, node: str) -> Ray:
        import ray
        from ray.exceptions import RayError
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        row = self._rows().get(node)
        if row is None:
            raise AgentDead(f"node {node} has gone")
        gpus, cpus = int(row["Resources"].get("GPU", 0)), int(row["Resources"].get("CPU", 0))
        model = row.get("Labels", {}).get(MODEL_LABEL, "")
        actor = ray.remote(RayAgent).options(
            name=PREFIX + node, namespace=NAMESPACE, lifetime="detached", get_if_exists=True, num_cpus=0,
            num_gpus=gpus, max_concurrency=CALLS_AT_ONCE,
            scheduling_strategy=NodeAffinitySchedulingStrategy(row["NodeID"], soft=False),
        )  # fmt: skip
        try:
            return actor.remote(node, gpus, cpus, model, self._facts_of, self._lease_s, self._stay)
        except (RayError, ValueError) as error:  # its predecessor is just ending, or the cluster does not answer
            raise AgentDead(str(error)) from None


def node_name(row: Mapping[str, Any]) -> str:
    """A node's name in the pool, from a row of `ray.nodes()`: its host and the start of its id, since several nodes
    may be on one host.

    >>> node_name({"NodeManagerHostname": "gpu-3", "NodeID": "bfa5a857b42b01"})
    'gpu-3-bfa5a857'
    """
    return f"{row['NodeManagerHostname']}-{row['NodeID'][:8]}"


def connect(address: str) -> None:
    """Connect this process to a running cluster.

    Raises:
        PoolError: ray is not installed, nobody listens at this address, or it is no Ray cluster of the same version.
    """
    try:
        import ray
    except ImportError:
        raise PoolError("a pool on Ray needs the package ray.", "pip install 'shoal[ray]'") from None
    _knock(address)
    _show_token()
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    until = time.monotonic() + REGISTRATION_S
    while True:
        try:
            ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)
            break
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            ray.shutdown()
            if time.monotonic() > until:
                why = str(error.__cause__ or error).splitlines()[0]
                raise PoolError(f"the Ray cluster at {address} cannot be joined: {why}", HINT) from None
        time.sleep(0.2)
    _silence()


def _knock(address: str) -> None:
    """Does anybody listen there? Ray itself would try for two minutes.

    Raises:
        PoolError: nobody does, or it is not an address.
    """
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in address:
        raise PoolError(f"--ray {address!r} is not HOST:PORT.", "Give the address that `ray start --head` printed.")
    try:
        socket.create_connection((host, int(port)), timeout=KNOCK_S).close()
    except OSError as error:
        raise PoolError(f"no Ray cluster is at {address}: {error.strerror or error}.", HINT) from None


def _show_token() -> None:
    """Let Ray use the token of this account (`~/.ray/auth_token`), if there is one: it does so by itself for the
    address "auto" only. Versions that know no tokens need none."""
    logging.getLogger("ray").setLevel(logging.ERROR)  # it would explain tokens at every start
    with contextlib.suppress(ImportError):
        from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available

        maybe_enable_token_auth_if_token_available(warn_if_disabled=False)


def _silence() -> None:
    """Ray writes every lost node and ended actor to standard output, which is for data; shoal says them itself.

    There is no public way to have it not do so; should this one change, the lines are back and nothing else happens.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from ray._private.ray_logging import global_worker_stdstream_dispatcher

        global_worker_stdstream_dispatcher.handlers = []


def disconnect() -> None:
    """Leave the cluster; detached agents stay."""
    import ray

    ray.shutdown()


def _answer(reference: Ray, timeout_s: float) -> Any:
    """A call's answer.

    Raises:
        AgentSilent: there is none in time, or Ray cannot reach the actor now (it may be back in a moment).
        AgentDead: the actor has ended.
    """
    import ray
    from ray.exceptions import ActorDiedError, ActorUnschedulableError, GetTimeoutError, RayError

    try:
        return ray.get(reference, timeout=timeout_s)
    except GetTimeoutError:
        raise AgentSilent(f"no answer in {timeout_s:g} s") from None
    except (ActorDiedError, ActorUnschedulableError) as error:
        raise AgentDead(str(error).splitlines()[0]) from None
    except RayError as error:
        raise AgentSilent(str(error)) from None
