"""The commands that the service adds to `plugbay`."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from plugbay import data_dir_option, opened_host

from plugbay_scheduled_query.core.schedule import BadCron, Schedule, UnknownTimezone, parse, zone

if TYPE_CHECKING:
    from plugbay import Plugbay

    from plugbay_scheduled_query.catalogue import Catalogue
    from plugbay_scheduled_query.catalogue.editing import SourceEditing
    from plugbay_scheduled_query.core.model import Execution
    from plugbay_scheduled_query.queries.alert_transfer import AlertTransfer
    from plugbay_scheduled_query.queries.capacity import Capacities
    from plugbay_scheduled_query.queries.editing import QueryEditing
    from plugbay_scheduled_query.queries.transfer import Step
    from plugbay_scheduled_query.repository.definitions import Definitions

BY = "command line"  # who makes what is imported
MAX_COUNT = 1000  # times of a schedule


def _read_cron(ctx: click.Context, param: click.Parameter, value: str) -> Schedule:
    try:
        return parse(value)
    except BadCron as error:
        raise click.BadParameter(str(error)) from None


def _read_zone(ctx: click.Context, param: click.Parameter, value: str) -> tzinfo:
    try:
        return zone(value)
    except UnknownTimezone as error:
        raise click.BadParameter(str(error)) from None


def _read_time(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    try:
        return None if value is None else datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter("not a time such as 2026-03-29T01:00:00 or 2026-03-29T00:00:00Z") from None


@click.command()
@click.argument("schedule", metavar="EXPR", callback=_read_cron)
@click.option(
    "--timezone",
    metavar="TZ",
    callback=_read_zone,
    default="UTC",
    envvar="SCHEDULED_QUERY_TIMEZONE",
    show_default=True,
    show_envvar=True,
    help="The time zone of the schedule, such as Europe/Berlin.",
)
@click.option(
    "--after",
    metavar="ISO-TIME",
    callback=_read_time,
    help="Begin after this time instead of now; without an offset it is a time of the time zone.",
)
@click.option("--count", metavar="N", type=click.IntRange(1, MAX_COUNT), default=5, show_default=True)
@click.option(
    "--data-dir", hidden=True, expose_value=False, help="Every command takes it; this one opens no store."
)
def cron(schedule: Schedule, timezone: tzinfo, after: datetime | None, count: int) -> None:
    """Prints the next times of a cron expression, one a line, in its time zone.

    EXPR has five fields (minute, hour, day of month, month, day of week) or is @hourly, @daily, @weekly,
    @monthly or @yearly. Quote it, so that the shell leaves its stars alone.
    """
    begin = datetime.now(UTC) if after is None else after
    if begin.tzinfo is None:
        begin = begin.replace(tzinfo=timezone)
    try:
        times = schedule.next_times(begin, timezone, count)
    except (BadCron, OverflowError):
        raise click.UsageError("the calendar ends before that many times") from None
    for moment in times:
        click.echo(moment.astimezone(timezone).isoformat())


@click.group()
def queries() -> None:
    """Run queries; export and import their definitions."""


@queries.command("export")
@click.argument("file", type=click.File("w", encoding="utf-8", atomic=True), default="-")
@data_dir_option
def export(file: IO[str], data_dir: Path | None) -> None:
    """Write all definitions as JSON to FILE, or to standard output.

    Alerts go with their queries. Data sources and channels are named, not described: no password leaves
    the store.
    """
    from plugbay_scheduled_query.queries.transfer import document_of

    with _opened(data_dir) as (definitions, _, _, alerts):
        document = document_of(definitions, alerts)
    json.dump(document, file, ensure_ascii=False, indent=2)
    file.write("\n")
    click.echo(f"{len(document['queries'])} queries were exported.", err=True)


@queries.command("import")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--dry-run", "is_trial", is_flag=True, help="Only say what would happen.")
@data_dir_option
def import_(file: IO[str], is_trial: bool, data_dir: Path | None) -> None:
    """Bring in the definitions of FILE (- is standard input), as `export` wrote them.

    A query is known by its name: there is one, it is changed; there is none, it is made. Doing it twice
    changes nothing. If one definition is refused, none is stored, and the exit status is 1.
    """
    from plugbay_scheduled_query.queries.transfer import Import

    given = _read(file)
    with _opened(data_dir) as (definitions, capacities, editing, alerts):
        steps = Import(editing, definitions, alerts).run(given, BY, is_trial)
        is_refused = any(step.outcome == "refused" for step in steps)
        is_stored = not is_trial and not is_refused
        overloads = capacities.overloads() if is_stored else []
    _tell(steps, is_stored)
    for sentence in overloads:
        click.echo(sentence, err=True)
    if is_refused:
        raise SystemExit(1)


@queries.command("run")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the execution as the API tells it.")
@data_dir_option
def run(name: str, as_json: bool, data_dir: Path | None) -> None:
    """Run the query NAME now, wait for its end and print its result; exit 1 unless it succeeds.

    It runs here, with the guard and the limits of every run, and is recorded as every run is; one that is
    under way is joined. NAME may be the number of the query.
    """
    from plugbay_scheduled_query.one_run import run_once
    from plugbay_scheduled_query.repository.definitions import Definitions
    from plugbay_scheduled_query.web.api.json_text import execution_pieces

    with opened_host(data_dir) as host:
        settings = _settings_of(host)
        query_id = _find(Definitions(host.store, host.clock), name)
        execution = run_once(host, settings, query_id, BY)
    if execution is None:
        raise click.ClickException("it is not known how the run ended; see its history")
    click.echo("".join(execution_pieces(execution)) if as_json else _as_text(execution), nl=as_json)
    took = f"{execution.status.value} in {execution.duration_ms:,} ms"
    click.echo(f"{took}: {execution.error_message}" if execution.error_message else f"{took}.", err=True)
    if execution.status.value != "success":
        raise SystemExit(1)


def _find(definitions: "Definitions", name: str) -> int:
    found = [query.id for query in definitions.all() if query.name == name]
    if not found and name.isdecimal():
        found = [query.id for query in definitions.get_many([int(name[:9])])]
    if len(found) != 1:
        several = f"several queries are called {name}: {', '.join(map(str, found))}; give the number of one"
        raise click.ClickException(several if found else f"there is no query called {name}")
    return found[0]


def _as_text(execution: "Execution") -> str:
    """The result as a table for people, one row a line."""
    if execution.result is None:
        return ""
    rows = [list(execution.result_key), *json.loads(execution.result)]
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    cut = ["(cut at the limit)"] if execution.truncated else []
    return "".join(f"{line}\n" for line in [*lines, *cut])


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else "NULL" if value is None else json.dumps(value)
    return " ".join(text.split()) if "\n" in text else text


@click.group()
def sources() -> None:
    """List and test data sources."""


@sources.command("list")
@data_dir_option
def list_(data_dir: Path | None) -> None:
    """List all data sources with their database, how many queries use them, and their masked address."""
    with _opened_sources(data_dir) as (catalogue, _):
        views = catalogue.views()
    for view in views:
        said = f"cannot be used: {view.problem}" if view.problem else view.masked_url
        click.echo(f"{view.stored.name:<24} {view.stored.dialect:<12} {view.query_count:>6}  {said}")


@sources.command("test")
@click.argument("name")
@data_dir_option
def test(name: str, data_dir: Path | None) -> None:
    """Connect to the data source NAME, and say what its account can do; exit 1 if it cannot be reached."""
    with _opened_sources(data_dir) as (catalogue, editing):
        found = next((source for source in catalogue.all() if source.name == name), None)
        if found is None:
            raise click.ClickException(f"there is no data source called {name}")
        tested = editing.test(found.id)
    if tested.error:
        raise click.ClickException(tested.error)
    click.echo(f"{name} answers: {tested.server}")
    for line in (*tested.warnings, *tested.statements):
        click.echo(line)


@contextmanager
def _opened_sources(data_dir: Path | None) -> "Iterator[tuple[Catalogue, SourceEditing]]":
    from plugbay_scheduled_query.catalogue import Catalogue, bring_in
    from plugbay_scheduled_query.catalogue.editing import SourceEditing
    from plugbay_scheduled_query.executor import Executor
    from plugbay_scheduled_query.repository.sources import SourceRepository

    with opened_host(data_dir) as host:
        settings, stored = _settings_of(host), SourceRepository(host.store, host.secrets, host.clock)
        executor = Executor(1, clock=host.clock)
        try:
            catalogue = Catalogue(stored, executor, host)
            bring_in(stored, settings.named_sources(), catalogue.dialect_of)
            yield catalogue, SourceEditing(stored, catalogue, executor)
        finally:
            executor.close()


def _read(file: IO[str]) -> Any:
    from plugbay_scheduled_query.queries.transfer import BadDocument, read_document

    try:
        return read_document(json.load(file))
    except BadDocument as error:
        raise click.BadParameter(str(error), param_hint="FILE") from None
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"it is not valid JSON: {error}", param_hint="FILE") from None


@contextmanager
def _opened(data_dir: Path | None) -> "Iterator[tuple[Definitions, Capacities, QueryEditing, AlertTransfer]]":
    """What commands work with, on the store that a server with the same options would use."""
    from plugbay_scheduled_query.alerts.editing import AlertEditing
    from plugbay_scheduled_query.catalogue import bring_in
    from plugbay_scheduled_query.catalogue.targets import language_of, own_store_of
    from plugbay_scheduled_query.queries.alert_transfer import AlertTransfer
    from plugbay_scheduled_query.queries.capacity import Capacities
    from plugbay_scheduled_query.queries.editing import QueryEditing
    from plugbay_scheduled_query.repository.alerts import Alerts
    from plugbay_scheduled_query.repository.channels import Channels
    from plugbay_scheduled_query.repository.definitions import Definitions
    from plugbay_scheduled_query.repository.sources import SourceRepository

    with opened_host(data_dir) as host:
        definitions = Definitions(host.store, host.clock)
        sources = SourceRepository(host.store, host.secrets, host.clock)
        settings = _settings_of(host)
        own_store = own_store_of(host)
        bring_in(sources, settings.named_sources(), lambda source: language_of(source, own_store))
        capacities = Capacities(definitions, sources, lambda: settings, host.clock)
        editing = QueryEditing(definitions, sources, lambda: settings, host.events, capacities)
        stored, channels = Alerts(host.store, host.clock), Channels(host.store, host.secrets, host.clock)
        # a running server sends what an edit has to tell, when it looks each minute
        alert_editing = AlertEditing(stored, channels, lambda events: None)
        yield definitions, capacities, editing, AlertTransfer(stored, alert_editing)


def _settings_of(host: "Plugbay") -> Any:
    module = host.get_module("scheduled_query")
    if module is None:
        plugin = host.modules.get("scheduled_query")
        raise click.ClickException(f"the plugin scheduled_query is {plugin.state}. {plugin.reason}".rstrip())
    return module.module_settings


def _tell(steps: "list[Step]", is_stored: bool) -> None:
    for step in steps:
        if step.outcome != "unchanged":
            told = f"{step.outcome:<9} {step.name}"
            click.echo(f"{told}: {step.details}" if step.details else told, err=True)
    counts = Counter(step.outcome for step in steps)
    words = [
        f"{counts[word]} {word}" for word in ("created", "changed", "unchanged", "refused") if counts[word]
    ]
    end = "" if is_stored else " Nothing was stored."
    click.echo(f"{', '.join(words) or 'no queries'}.{end}", err=True)
