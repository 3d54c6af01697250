"""Trials on several nodes: the same node agent, one a machine, behind a thin transport.

| module | what it is |
|---|---|
| `ports.py` | what a head may ask of a far agent, and what it hears |
| `agent_host.py`, `ledger.py` | the far side: an agent with a thread of its own, its books, its lease |
| `watched_agent.py` | the near side of one agent: a thread that listens, and notices silence |
| `watchers.py` | all of them, and the thread that sends and looks for new nodes |
| `cluster_runner.py`, `placements.py` | the runner over all nodes; which trial is on which, and how one moves |
| `checkpoint_store.py`, `mirror.py` | trials' files on storage that all nodes share |
| `ray_fleet.py` | the transport over Ray; the only module that loads it |
"""
