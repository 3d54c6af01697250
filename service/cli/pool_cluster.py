"""`shoal pool up|down|status|drain`: the agents on the nodes of a Ray cluster (`docs/cluster.md`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import NotFound, PoolError
from .options import DataFlag, OutputFlag, data_directory, output_format
from .output import write_json, write_rows
from .pool import pool
from .settings import Settings

if TYPE_CHECKING:
    from ...trial_runner.cluster.ray_fleet import RayFleet

ANSWER_S = 3.0  # how long a status waits for an agent
START_S = 60.0  # how long one that is being started is waited for

AddressFlag = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS",
        help="The Ray cluster; default: the one that `pool up` started on this machine. [SHOAL_RAY]",
    ),
]  # fmt: skip


def pool_commands() -> typer.Typer:
    """`shoal pool` with its sub-commands."""
    group = typer.Typer(help=pool.__doc__)
    group.callback(invoke_without_command=True)(_show)
    for command in (up, down, status, drain):
        group.command()(command)
    return group


def _show(context: typer.Context, data: DataFlag = None, output: OutputFlag = None) -> None:
    if context.invoked_subcommand is None:
        pool(data, output)


def up(
    ray: AddressFlag = None,
    logical_gpus: Annotated[
        int | None, typer.Option("--logical-gpus", help="Without --ray: pretend to have N GPUs here.", min=1)
    ] = None,
    lease_s: Annotated[
        float | None, typer.Option("--lease-s", help="How long trials go on when a run has died; default: 300.", min=5)
    ] = None,
    data: DataFlag = None,
    output: OutputFlag = None,
) -> None:
    """Have an agent on every node that stays when a run ends. Without --ray it starts a cluster on this machine."""
    from ...trial_runner.cluster.agent_host import LEASE_S
    from ..cluster_place import START, asked
    from ..cluster_start import start

    directory = data_directory(data)
    address = _given(ray)
    if address in ("", START):
        address = start(directory, logical_gpus, stays=True).address
    elif logical_gpus is not None:
        raise PoolError("--logical-gpus goes with a cluster of this machine.", "Leave it out, or leave --ray out.")
    with _joined(address, stay=True, lease_s=LEASE_S if lease_s is None else lease_s) as fleet:
        states = asked(fleet, "state", START_S)
        missing = sorted(set(fleet.nodes()) - states.keys())
        _write([states[node] for node in sorted(states)], output)
    print(f"the pool is up at {address}; use it with: shoal run FILE --ray {address}", file=sys.stderr)
    for node in missing:
        print(f"{node} does not answer yet: perhaps another program holds its GPUs", file=sys.stderr)


def down(
    ray: AddressFlag = None,
    now: Annotated[bool, typer.Option("--now", help="Also if trials are running; they are ended.")] = False,
    data: DataFlag = None,
) -> None:
    """End the agents of all nodes, and the cluster if `pool up` has started it."""
    from ...trial_runner.cluster.ports import AgentDead, AgentSilent
    from ..cluster_start import recorded, stop

    directory = data_directory(data)
    address, record = _address(ray, directory), recorded(directory)
    with _joined(address) as fleet:
        states = _states(fleet)
        busy = [state for state in states if state["trials"]]
        if busy and not now:
            raise PoolError(
                f"{sum(len(state['trials']) for state in busy)} trials are running, for {busy[0]['holder']}.",
                "Wait for them, stop the run, or end them with: shoal pool down --now",
            )
        for state in states:
            try:
                fleet.call(state["node"], "stop")
            except AgentDead:
                pass  # it has ended before it could say so
            except AgentSilent:
                print(f"{state['node']} does not answer", file=sys.stderr)
                continue
            print(f"{state['node']}: its agent has ended", file=sys.stderr)
    if record is not None and record.address == address:
        stop(directory, record)
        print(f"the cluster at {address} has ended", file=sys.stderr)


def status(ray: AddressFlag = None, data: DataFlag = None, output: OutputFlag = None) -> None:
    """Show the agents: their devices, who holds them, and what runs there."""
    with _joined(_address(ray, data_directory(data))) as fleet:
        states = _states(fleet)
        known = {state["node"] for state in states}
        without = sorted(set(fleet.nodes()) - known)
        _write([*states, *({"node": node, "holder": "no agent"} for node in without)], output)


def drain(
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node, or the beginning of its name.")],
    undo: Annotated[bool, typer.Option("--undo", help="Use the node again.")] = False,
    ray: AddressFlag = None,
    data: DataFlag = None,
) -> None:
    """Empty a node. Nothing new starts there; trials that can pause go on elsewhere, the others run to their end."""
    with _joined(_address(ray, data_directory(data))) as fleet:
        states = {state["node"]: state for state in _states(fleet)}
        matching = [name for name in states if name.startswith(node)]
        if node in states:
            matching = [node]
        if len(matching) != 1:
            what = f"several nodes begin with {node!r}" if matching else f"no node is called {node!r}"
            raise NotFound(f"{what}.", f"Nodes: {', '.join(sorted(matching or states)) or 'none'}.")
        (name,) = matching
        fleet.call(name, "drain", not undo)
    running = states[name]["trials"]
    if undo:
        print(f"{name} is used again", file=sys.stderr)
    else:
        print(f"{name} is being emptied; {len(running)} trials are on it now", file=sys.stderr)


def _given(flag: str | None) -> str:
    return str(Settings.read().resolve("ray", flag).value)


def _address(flag: str | None, directory: Path) -> str:
    """The cluster's address, from the flag, the settings, or `pool up` on this machine.

    Raises:
        NotFound: nobody says which cluster.
    """
    from ..cluster_place import START
    from ..cluster_start import recorded

    given = _given(flag)
    if given not in ("", START):
        return given
    record = recorded(directory)
    if record is None:
        raise NotFound(f"no cluster of {directory} is up.", "Start one with: shoal pool up, or name one: --ray ADDRESS")
    return record.address


@contextmanager
def _joined(address: str, **options: Any) -> Iterator[RayFleet]:
    from ...trial_runner.cluster.ray_fleet import RayFleet, connect, disconnect
    from ..cluster_nodes import facts_of

    connect(address)
    try:
        yield RayFleet(facts_of, **options)
    finally:
        disconnect()


def _states(fleet: RayFleet) -> list[dict[str, Any]]:
    """What the agents that there are say of themselves."""
    from ...trial_runner.cluster.ports import AgentDead, AgentSilent

    states = []
    for node in sorted(fleet.nodes()):
        try:
            states.append(fleet.call(node, "state", timeout_s=ANSWER_S))
        except AgentDead:
            continue
        except AgentSilent:
            print(f"{node} does not answer", file=sys.stderr)
    return states


def _write(states: list[dict[str, Any]], output: str | None) -> None:
    form = output_format(output)
    if form == "json":
        write_json(states)
        return
    rows = [
        {
            "node": state["node"], "gpus": state.get("gpus"), "cpus": state.get("cpus"),
            "model": state.get("device_model"), "held by": state["holder"] or "nobody",
            "trials": " ".join([*state.get("trials", ()), *(f"{name} (guest)" for name in state.get("guests_of", ()))]),
            "draining": "yes" if state.get("draining") else "no",
        }
        for state in states
    ]  # fmt: skip
    write_rows(rows, form)
