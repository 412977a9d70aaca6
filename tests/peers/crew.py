"""Work side by side, a process for each task: one that is killed, as where memory ends, costs its task alone."""
import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait


def answer(connection, work: Callable, arguments):
    try:
        connection.send((work(*arguments), ""))
    except Exception as error:  # of one task: the others continue
        connection.send((None, repr(error)))


def end_of(code: int) -> str:
    return f"its process was killed by signal {-code}" if code < 0 else f"its process ended with {code}"


def outcome(connection, child) -> tuple | None:
    """Nothing as long as the task is under way."""
    has_ended = not child.is_alive()
    try:
        if connection.poll():
            return connection.recv()
    except EOFError:
        child.join()
        has_ended = True
    return (None, end_of(child.exitcode)) if has_ended else None


def done(work: Callable, tasks: dict, jobs: int) -> Iterator[tuple]:
    """`tasks`: arguments by name. Gives the name, what work made of the arguments, and why it made nothing, as they end."""
    context, waiting, running = multiprocessing.get_context("fork"), list(tasks), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop(0)
            mine, other = context.Pipe(duplex=False)
            child = context.Process(target=answer, args=(other, work, tasks[name]))
            child.start()
            other.close()
            running[name] = (mine, child)
        wait([end for mine, child in running.values() for end in (mine, child.sentinel)])
        for name, (mine, child) in list(running.items()):
            if (found := outcome(mine, child)) is not None:
                child.join()
                mine.close()
                del running[name]
                yield name, *found
