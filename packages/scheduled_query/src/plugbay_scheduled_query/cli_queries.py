"""`plugbay queries`: definitions as a file, to keep under version control or to bring to another server."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from plugbay import data_dir_option, opened_host

if TYPE_CHECKING:
    from plugbay import Plugbay

    from plugbay_scheduled_query.repository.definitions import Definitions
    from plugbay_scheduled_query.transfer import Step
    from plugbay_scheduled_query.workbench import Workbench

BY = "command line"  # who makes what is imported


@click.group()
def queries() -> None:
    """Export and import the definitions of queries."""


@queries.command("export")
@click.argument("file", type=click.File("w", encoding="utf-8", atomic=True), default="-")
@data_dir_option
def export(file: IO[str], data_dir: Path | None) -> None:
    """Write all definitions as JSON to FILE, or to standard output.

    Data sources are named, not described: no password leaves the store.
    """
    from plugbay_scheduled_query.transfer import document_of

    with _opened(data_dir) as (_, definitions):
        document = document_of(definitions)
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
    from plugbay_scheduled_query.transfer import Import

    given = _read(file)
    with _opened(data_dir) as (workbench, definitions):
        steps = Import(workbench, definitions).run(given, BY, is_trial)
        is_refused = any(step.outcome == "refused" for step in steps)
        is_stored = not is_trial and not is_refused
        overloads = workbench.overloads() if is_stored else []
    _tell(steps, is_stored)
    for sentence in overloads:
        click.echo(sentence, err=True)
    if is_refused:
        raise SystemExit(1)


def _read(file: IO[str]) -> Any:
    from plugbay_scheduled_query.transfer import BadDocument, read_document

    try:
        return read_document(json.load(file))
    except BadDocument as error:
        raise click.BadParameter(str(error), param_hint="FILE") from None
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"it is not valid JSON: {error}", param_hint="FILE") from None


@contextmanager
def _opened(data_dir: Path | None) -> "Iterator[tuple[Workbench, Definitions]]":
    """What commands work with, on the store that a server with the same options would use."""
    from plugbay_scheduled_query.repository.definitions import Definitions
    from plugbay_scheduled_query.repository.sources import SourceRepository
    from plugbay_scheduled_query.setting_sources import bring_in
    from plugbay_scheduled_query.sources.source import language_of
    from plugbay_scheduled_query.surroundings import surroundings_of
    from plugbay_scheduled_query.workbench import Workbench

    with opened_host(data_dir) as host:
        definitions = Definitions(host.store, host.clock)
        sources = SourceRepository(host.store, host.secrets, host.clock)
        settings = _settings_of(host)
        around = surroundings_of(host)
        bring_in(sources, settings.named_sources(), lambda source: language_of(source, around))
        yield Workbench(definitions, sources, lambda: settings, host.events, host.clock), definitions


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
