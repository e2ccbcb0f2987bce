"""Writes the migrations folder of a plugin that exists only for a test."""

from pathlib import Path

SCRIPT = '''"""A step of a test."""

import os
import sqlalchemy as sa
from alembic import op
from plugbay.store import UTCDateTime

revision = {revision!r}
down_revision = {down_revision!r}


def upgrade() -> None:
{body}
'''


def write_step(scripts: Path, revision: str, after: str | tuple[str, ...] | None, *lines: str) -> Path:
    """Adds one migration; returns the folder that a store migrates from."""
    body = "\n".join(f"    {line}" for line in lines or ("pass",))
    (scripts / "versions").mkdir(parents=True, exist_ok=True)
    text = SCRIPT.format(revision=revision, down_revision=after, body=body)
    (scripts / "versions" / f"{revision}_step.py").write_text(text)
    return scripts


def write_plants(scripts: Path) -> Path:
    """Three steps: tables with rows, a table filled from another, a table rebuilt under its children."""
    write_step(
        scripts,
        "0001",
        None,
        'def key(): return sa.Column("id", sa.Integer, primary_key=True)',
        'beds = op.create_table("beds", key(), sa.Column("name", sa.Text))',
        'op.bulk_insert(beds, [{"id": 1, "name": "north"}, {"id": 2, "name": "south"}])',
        'bed = sa.ForeignKey("beds.id", ondelete="CASCADE")',
        'op.create_table("plants", key(), sa.Column("bed", sa.Integer, bed))',
        'op.execute("INSERT INTO plants (id, bed) VALUES (1, 1), (2, 1), (3, 2)")',
    )
    write_step(
        scripts,
        "0002",
        "0001",
        'op.create_table("names", sa.Column("name", sa.Text, unique=True))',
        'op.execute("INSERT INTO names SELECT name FROM beds")',
        'op.create_index("ix_plants_bed", "plants", ["bed"])',
    )
    return write_step(
        scripts,
        "0003",
        "0002",
        'with op.batch_alter_table("beds") as beds:',
        '    beds.add_column(sa.Column("width", sa.Integer, nullable=False, server_default="3"))',
        '    beds.alter_column("name", existing_type=sa.Text, nullable=False)',
        'op.execute("UPDATE beds SET width = width + 1")',
    )
