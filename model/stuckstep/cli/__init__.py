"""The command `stuckstep`. What a command needs is imported when it runs, so that --help answers at once.

Exit codes: 0; 1 when a law of the model is broken (or a workbook disagrees with it); 2 for input that is no good or a
place that cannot be written; 3 for an error of the program itself; 130 when it is stopped.
"""

import atexit
import errno
import gc
import os
import sys
from typing import Any

import click

from . import check, convert, explain, export, library, report, run, studies

ORDER = ("run", "check", "new", "convert", "explain", "export", "report", "app", "compare", "facts")


# What a machine that is full says; no fault of the program, wherever it happens.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE)


class Commands(click.Group):
    """The commands in the order in which they are met, with every error told in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*(name for name in ORDER if name in self.commands), *(n for n in self.commands if n not in ORDER)]

    def main(self, args: Any = None, *more: Any, **extra: Any) -> Any:
        if args is None:
            _make_quick(sys.argv[1:2])
        return super().main(args, *more, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a name in letters the terminal lacks must not stop a run
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            code = 130
        except BrokenPipeError:  # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except Exception as error:
            code = _tell(error)
        ctx.exit(code)


def _make_quick(command: list[str]) -> None:
    """What makes a short process quicker, and only a process of our own may do (0.3 s of a run of 2 s)."""
    gc.set_threshold(1_000_000)  # the lines are many small objects without cycles, and live to the end
    atexit.register(gc.freeze)
    if command == ["run"]:
        # xarray loads dask, where that is installed, just to learn that no array is one of dask's. None in a run is.
        sys.modules.setdefault("dask", None)  # type: ignore[arg-type]


def _tell(error: Exception) -> int:
    """Prints what went wrong, one line for each fault, and gives the exit code."""
    import tempfile

    from stuckstep.deal import DealError

    if isinstance(error, DealError):
        for fault in error.faults:
            click.echo(_one_line(str(fault)), err=True)
        return 2
    if type(error).__name__ == "WorkbookError":
        click.echo(_one_line(str(error)), err=True)
        return 2 if isinstance(error.__cause__ or error.__context__, OSError) else 1
    if isinstance(error, OSError) and error.errno in FULL:
        where = error.filename or tempfile.gettempdir()
        click.echo(
            f"{_one_line(str(where))}: cannot be written ({os.strerror(error.errno)}); more room is needed", err=True
        )
        return 2
    if isinstance(error, MemoryError):
        click.echo("there is not enough memory for this deal; fewer scenarios, phases or quarters are needed", err=True)
        return 2
    if os.environ.get("STUCKSTEP_TRACEBACK") == "1":
        raise error
    about = f"{type(error).__name__}: {_one_line(str(error))}"
    hint = "please report it with the deal and the command; STUCKSTEP_TRACEBACK=1 shows where it happened"
    click.echo(f"stuckstep met an error of its own ({about}); {hint}", err=True)
    return 3


def _one_line(text: str) -> str:
    """Text without line breaks and control characters, which a path or a name might bring along."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="stuckstep", message="stuckstep %(version)s")
def main() -> None:
    """Who is paid, when and how much, when a stuck step delays the billing of a GPU cluster.

    DEAL is a folder of CSV files, an .xlsx workbook, or the name of one under ./assumptions.
    """


for command in (
    *(run.run, check.check, convert.new, convert.convert, explain.explain, export.export),
    *(report.report, report.app, library.compare, library.facts),
    *studies.COMMANDS,
):
    main.add_command(command)
