"""A head for tests of the elastic policy: obeys at once and remembers who runs."""

from fractions import Fraction

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.port import (
    Action,
    NodeUp,
    Pause,
    PoolEvent,
    Request,
    Resize,
    RungReached,
    Start,
    Stop,
    Tick,
    TrialOffered,
    TrialReleased,
    TrialResized,
    TrialStarted,
    WorkerSlot,
)


class Head:
    """Obeys at once and remembers who runs.

    Args:
        gpus: of each node.
        cpus: of each node.
        node: further fields of NodeUp, one dict a node.
    """

    def __init__(self, *gpus: int, cpus: int = 64, node: tuple[dict[str, object], ...] = ()) -> None:
        self.policy = ElasticPolicy()
        self.at = 0.0
        self.running: dict[tuple[str, int], int] = {}
        self.log: list[Action] = []
        self.generations: dict[tuple[str, int], int] = {}
        self.requests: dict[tuple[str, int], Request] = {}
        self.paused: list[tuple[str, int]] = []
        self.stopped: list[tuple[str, int]] = []
        self.obedient = True
        for i, count in enumerate(gpus):
            ids = tuple(f"n{i}.{g}" for g in range(count))
            more = node[i] if i < len(node) else {}
            self.send(NodeUp(at=0.0, node=f"n{i}", gpus=ids, cpus=cpus, memory_gib=64.0, **more))  # type: ignore[arg-type]

    def send(self, event: PoolEvent) -> list[Action]:
        actions = self.policy.step(event)
        self.policy.validate_state()
        self.log += actions
        for action in actions:
            assert action.reason
            if self.obedient:
                self.obey(action)
        return actions

    def obey(self, action: Action) -> None:
        key = (action.study, action.number)
        where = {"at": self.at, "study": key[0], "number": key[1], "generation": action.generation}
        match action:
            case Start():
                self.running[key] = len(action.workers)
                self.send(TrialStarted(**where, start_s=3.0))  # type: ignore[arg-type]
            case Resize():
                self.running[key] = len(action.workers)
                self.send(TrialResized(**where, resize=action.resize, stall_s=3.0))  # type: ignore[arg-type]
            case Pause():
                del self.running[key]
                self.paused.append(key)
                self.send(TrialReleased(**where))  # type: ignore[arg-type]
                self.offer(*key, request=self.requests[key])
            case Stop():
                self.stopped.append(key)
                if self.running.pop(key, None):
                    self.send(TrialReleased(**where))  # type: ignore[arg-type]

    def offer(
        self,
        study: str,
        number: int,
        *,
        request: Request | None = None,
        priority: int = 0,
        can_pause: bool = True,
        **more: object,
    ) -> list[Action]:
        key = (study, number)
        self.generations[key] = self.generations.get(key, 0) + 1
        self.requests[key] = request or one()
        return self.send(
            TrialOffered(
                at=self.at,
                study=study,
                number=number,
                generation=self.generations[key],
                request=self.requests[key],
                priority=priority,
                rung=0,
                can_pause=can_pause,
                **more,  # type: ignore[arg-type]
            )
        )

    def release(self, study: str, number: int) -> None:
        self.running.pop((study, number), None)
        generation = self.generations[study, number]
        self.send(TrialReleased(at=self.at, study=study, number=number, generation=generation))

    def workers(self, study: str, number: int) -> tuple[WorkerSlot, ...]:
        return self.policy.holdings().get((study, number), ())

    def nodes(self, study: str, number: int) -> set[str]:
        return {slot.node for slot in self.workers(study, number)}

    def report(self, study: str, number: int, rung: int, value: float) -> list[Action]:
        """The trial stands at a rung."""
        generation = self.generations[study, number]
        return self.send(
            RungReached(at=self.at, study=study, number=number, generation=generation, rung=rung, value=value)
        )

    def wait(self, seconds: float) -> None:
        self.at += seconds
        self.send(Tick(at=self.at))


def one(k_max: int = 1, k_min: int = 1, gpus: object = 1, cpus: int = 0) -> Request:
    return Request(k_min=k_min, k_max=k_max, gpus=Fraction(str(gpus)), cpus=cpus)
