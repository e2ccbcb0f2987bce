"""The commands about people and their tokens."""

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plugbay.cli.options import data_dir_option, opened_store
from plugbay.errors import UnknownToken

if TYPE_CHECKING:
    from plugbay.store import Store

Row = Sequence[str]


@click.group()
def user() -> None:
    """Manage users."""


@user.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(["admin", "editor", "viewer"]), default="editor", show_default=True)
@data_dir_option
def user_add(name: str, role: str, data_dir: Path | None) -> None:
    """Add a user; the password comes from a prompt or from standard input."""
    from plugbay import auth

    password = _read_password()
    with opened_store(data_dir) as store:
        auth.add_user(store, name, password, role)
    click.echo(f"The user {name} was added as {role}.", err=True)


@user.command("list")
@data_dir_option
def user_list(data_dir: Path | None) -> None:
    """List all users with their role and how many tokens they have."""
    from plugbay import auth

    with opened_store(data_dir) as store:
        found = auth.accounts_of(store).all()
    _print_table(
        ("NAME", "ROLE", "TOKENS", "CREATED"),
        [(account.name, account.role, str(tokens), _day(account.created_at)) for account, tokens in found],
    )


@user.command("password")
@click.argument("name")
@data_dir_option
def user_password(name: str, data_dir: Path | None) -> None:
    """Give a user a new password, from a prompt or from standard input; their sessions end."""
    from plugbay import auth

    with opened_store(data_dir) as store:
        account = auth.accounts_of(store).named(name)  # before anybody types
        auth.set_password(store, account.name, _read_password())
    click.echo(f"{account.name} has a new password.", err=True)


@user.command("remove")
@click.argument("name")
@data_dir_option
def user_remove(name: str, data_dir: Path | None) -> None:
    """Remove a user with all sessions and tokens; the last admin stays."""
    from plugbay import auth

    with opened_store(data_dir) as store:
        accounts = auth.accounts_of(store)
        account = accounts.named(name)
        accounts.remove(account)
    click.echo(f"The user {account.name} was removed.", err=True)


@click.group()
def token() -> None:
    """Manage API tokens."""


@token.command("create")
@click.option("--user", "user_name", required=True, help="Whose rights the token has.")
@click.option("--name", "label", required=True, help="What it is for; shown in the list of tokens.")
@click.option(
    "--scope",
    type=click.Choice(["metrics", "read", "run", "all"]),
    default="all",
    show_default=True,
    help="metrics: /metrics alone; read: as a viewer; run: also Run Now and cancel; all: as the user.",
)
@click.option("--days", type=click.IntRange(1, 3650), help="When it ends; without it, never.")
@data_dir_option
def token_create(user_name: str, label: str, scope: str, days: int | None, data_dir: Path | None) -> None:
    """Make an API token and print it, alone, on standard output; it is shown only this once."""
    from plugbay import auth

    with opened_store(data_dir) as store:
        click.echo(auth.create_token(store, user_name, label, scope, days))


@token.command("list")
@click.option("--user", "user_name", help="Only those of this user.")
@data_dir_option
def token_list(user_name: str | None, data_dir: Path | None) -> None:
    """List the tokens that are not revoked, each with the number that `revoke` takes."""
    with opened_store(data_dir) as store:
        found = list(_tokens(store, user_name))
    _print_table(
        ("ID", "USER", "NAME", "SCOPE", "CREATED", "LAST USED", "ENDS"),
        [
            (
                str(one.id),
                owner,
                one.name,
                one.scope,
                _day(one.created_at),
                _day(one.last_used_at),
                _day(one.expires_at),
            )
            for owner, _, one in found
        ],
    )


@token.command("revoke")
@click.argument("token_id", metavar="ID", type=int)
@data_dir_option
def token_revoke(token_id: int, data_dir: Path | None) -> None:
    """End a token at once; `plugbay token list` shows its number."""
    from plugbay import auth

    with opened_store(data_dir) as store:
        for owner, user_id, one in _tokens(store, None):
            if one.id == token_id and auth.tokens_of(store).revoke(user_id, token_id):
                click.echo(f"The token {one.name} of {owner} was revoked.", err=True)
                return
    raise UnknownToken(id=token_id)


def _tokens(store: "Store", user_name: str | None) -> Iterator[tuple[str, int, Any]]:
    """Each token with the name and the number of its owner."""
    from plugbay import auth

    accounts, tokens = auth.accounts_of(store), auth.tokens_of(store)
    owners = [accounts.named(user_name)] if user_name else [account for account, _ in accounts.all()]
    for owner in owners:
        for row in tokens.of_user(owner.id):
            yield owner.name, owner.id, row


def _print_table(head: Row, rows: Sequence[Row]) -> None:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        click.echo("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "never"


def _read_password() -> str:
    if sys.stdin.isatty():
        given: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return given
    return sys.stdin.readline().rstrip("\r\n")
