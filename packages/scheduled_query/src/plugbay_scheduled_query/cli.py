"""The commands that the service adds to `plugbay`."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from plugbay import data_dir_option, opened_host

from plugbay_scheduled_query.core.schedule import BadCron, Schedule, UnknownTimezone, parse, zone

if TYPE_CHECKING:
    from plugbay import Plugbay

    from plugbay_scheduled_query.catalogue import Catalogue, SourceView
    from plugbay_scheduled_query.catalogue.editing import SourceEditing
    from plugbay_scheduled_query.core.model import Execution
    from plugbay_scheduled_query.queries.alert_transfer import AlertTransfer
    from plugbay_scheduled_query.queries.capacity import Capacities
    from plugbay_scheduled_query.queries.editing import QueryEditing
    from plugbay_scheduled_query.queries.transfer import Step
    from plugbay_scheduled_query.repository.definitions import Definitions

BY = "command line"  # who makes what is imported
MAX_COUNT = 1000  # times of a schedule
MOST_DIGITS = 10  # of an id


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


@click.group()
def sources() -> None:
    """List and test data sources."""


@sources.command("list")
@data_dir_option
def list_(data_dir: Path | None) -> None:
    """Print each data source: its name, kind, pace in seconds (- is the setting's) and masked URL."""
    with _opened_sources(data_dir) as (catalogue, _):
        rows = [_source_line(view) for view in catalogue.views()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())


@sources.command("test")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@data_dir_option
def test(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Connect to the data sources of these names, or to all, and say what their accounts can do.

    The exit status is 1 when one of them is not there or cannot be reached.
    """
    with _opened_sources(data_dir) as (catalogue, editing):
        known = {source.name: source.id for source in catalogue.all()}
        results = [_test_source(editing, name, known.get(name)) for name in names or known]
    if not all(results):
        raise SystemExit(1)


def _source_line(view: "SourceView") -> tuple[str, str, str, str]:
    stored = view.stored
    pace = "-" if stored.pace_s is None else str(stored.pace_s)
    return stored.name, stored.dialect, pace, view.masked_url or view.problem or "-"


def _test_source(editing: "SourceEditing", name: str, source_id: int | None) -> bool:
    """Whether it can be reached; what was found is told."""
    if source_id is None:
        click.echo(f"failed  {name}: there is no such data source")
        return False
    found = editing.test(source_id)
    click.echo(f"failed  {name}: {found.error}" if found.error else f"ok      {name}: {found.server}")
    for warning in found.warnings:
        click.echo(f"        {warning}")
    return found.error is None


@contextmanager
def _opened_sources(data_dir: Path | None) -> "Iterator[tuple[Catalogue, SourceEditing]]":
    """The sources of the store and of the settings, and runners to ask them with."""
    from plugbay_scheduled_query.catalogue import Catalogue, bring_in
    from plugbay_scheduled_query.catalogue.editing import SourceEditing
    from plugbay_scheduled_query.executor import Executor
    from plugbay_scheduled_query.repository.sources import SourceRepository

    with opened_host(data_dir) as host, closing(Executor(1, asides=1, clock=host.clock)) as executor:
        stored = SourceRepository(host.store, host.secrets, host.clock)
        catalogue = Catalogue(stored, executor, host)
        bring_in(stored, _settings_of(host).named_sources(), catalogue.dialect_of)
        yield catalogue, SourceEditing(stored, catalogue, executor, host.clock)


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
    if not found and name.isdecimal() and len(name) < MOST_DIGITS:
        found = list(definitions.get_many([int(name)]))
    if len(found) != 1:
        several = f"several queries are called {name}: {', '.join(map(str, found))}; give the number of one"
        raise click.ClickException(several if found else f"there is no query called {name}")
    return found[0]


def _as_text(execution: "Execution") -> str:
    """The result as a table for people, one row a line."""
    if execution.result is None:
        return ""
    rows = [list(execution.result_key), *json.loads(execution.result, parse_float=str, parse_int=str)]
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    cut = ["(cut at the limit)"] if execution.truncated else []
    return "".join(f"{line}\n" for line in [*lines, *cut])


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else "NULL" if value is None else json.dumps(value)
    text = " ".join(text.split()) if "\n" in text else text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


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
