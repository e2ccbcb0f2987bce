"""`plugbay user` and `plugbay token`: accounts without a browser, effective at once in a running server."""

import sys
from pathlib import Path

import click

from plugbay.cli.options import data_dir_option, opened_store


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


@click.group()
def token() -> None:
    """Manage API tokens."""


@token.command("create")
@click.option("--user", "user_name", required=True, help="Whose rights the token has.")
@click.option("--name", "label", required=True, help="What it is for; shown in the list of tokens.")
@data_dir_option
def token_create(user_name: str, label: str, data_dir: Path | None) -> None:
    """Make an API token and print it, alone, on standard output; it is shown only this once."""
    from plugbay import auth

    with opened_store(data_dir) as store:
        click.echo(auth.create_token(store, user_name, label))


def _read_password() -> str:
    if sys.stdin.isatty():
        given: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return given
    return sys.stdin.readline().rstrip("\r\n")
