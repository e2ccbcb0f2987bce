"""The command line: the host's own commands, and those that plugins contribute."""

import os
import sys
import threading
from importlib.metadata import entry_points
from typing import Any

import click

from plugbay.cli.accounts import token, user
from plugbay.cli.commands import backup, check, plugin, plugins, secrets, serve
from plugbay.cli.moving import move
from plugbay.errors import OperatorError, PlugbayError

COMMANDS_GROUP = "plugbay.commands"
THREADS_LIMIT_S = 5.0  # for threads that plugins left, once the command has ended
# commands of plugins that may not be installed: what brings them
BROUGHT_BY = {
    "cron": "plugbay-scheduled-query",
    "queries": "plugbay-scheduled-query",
    "sources": "plugbay-scheduled-query",
    "worker": "plugbay-task-worker",
}


class Commands(click.Group):
    """The host's commands and, imported only when called, those of the entry-point group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        contributed = {point.name for point in entry_points(group=COMMANDS_GROUP)}
        return sorted({*super().list_commands(ctx), *contributed})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own:
            return own
        for point in entry_points(group=COMMANDS_GROUP, name=cmd_name):
            found: click.Command = point.load()
            return found
        if distribution := BROUGHT_BY.get(cmd_name):
            raise click.UsageError(
                f"The command {cmd_name!r} comes with {distribution}: pip install {distribution}"
            )
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the contributed commands apart; one that cannot be imported says so, and help goes on."""
        own = [(name, command.get_short_help_str(80)) for name, command in sorted(self.commands.items())]
        others = [name for name in self.list_commands(ctx) if name not in self.commands]
        with formatter.section("Commands"):
            formatter.write_dl(own)
        if others:
            with formatter.section("Commands of plugins"):
                formatter.write_dl([(name, self._sentence_of(ctx, name)) for name in others])

    def _sentence_of(self, ctx: click.Context, name: str) -> str:
        try:
            command = self.get_command(ctx, name)
        except Exception as error:
            return f"cannot be loaded: {type(error).__name__}: {error}"
        return command.get_short_help_str(80) if command else ""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="plugbay")
def root() -> None:
    """A plugin host for FastAPI applications."""


for command in (serve, user, token, plugins, plugin, check, backup, move, secrets):
    root.add_command(command)


def main(*args: Any) -> None:
    """Runs a command; what the operator must mend is said in a sentence, with exit status 2."""
    status = _status_of(*args)
    # Python waits for the threads of plugins, and those that nobody stops would keep it waiting for ever
    watchdog = threading.Timer(THREADS_LIMIT_S, _end_by_force, [status])
    watchdog.daemon = True
    watchdog.start()
    sys.exit(status)


def _status_of(*args: Any) -> int:
    try:
        root(*args)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except PlugbayError as error:
        click.echo(f"plugbay: {error}", err=True)
        return 2 if isinstance(error, OperatorError) else 1
    return 0


def _end_by_force(status: int) -> None:
    main = threading.main_thread()
    left = [thread for thread in threading.enumerate() if not thread.daemon and thread is not main]
    names = ", ".join(thread.name for thread in left)
    click.echo(f"plugbay: ended while threads of plugins were still running: {names}", err=True)
    sys.stdout.flush()
    os._exit(status)
