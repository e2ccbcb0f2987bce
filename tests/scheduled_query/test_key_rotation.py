"""A change of the encryption key, as it goes for data sources."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from fastapi import FastAPI
from plugbay import Plugbay, Secrets, SecretUnreadable
from plugbay.secrets import rotate
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.repository.channels import ChannelDraft, Channels
from plugbay_scheduled_query.repository.sources import SourceRepository

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))
URL = "postgresql://reader:s3cret@db/shop"


@contextmanager
def opened(folder: Path, *keys: str) -> Iterator[tuple[Plugbay, SourceRepository]]:
    config = {"data_dir": folder / "data", "encryption_key": ",".join(keys)}
    host = Plugbay(FastAPI(), folder, config=config)
    assert host.get_module("scheduled_query")
    try:
        yield host, SourceRepository(host.store, host.secrets, host.clock)
    finally:
        host.stop(0)


def test_urls_of_sources_are_encrypted_anew_and_the_old_key_can_go(tmp_path: Path):
    with opened(tmp_path, OLD) as (_, sources):
        before = sources.add(Source("shop", URL), "postgresql")
    with opened(tmp_path, NEW, OLD) as (host, sources):
        told = {part.kept.column.table.name: part.counts for part in rotate(host.store, host.secrets)}
        assert told["scheduled_query_sources"] == {"renewed": 1}
    with opened(tmp_path, NEW) as (_, sources):
        after = sources.by_name("shop")
        assert after
        assert sources.url_of(after) == URL
        assert after.updated_at == before.updated_at  # nothing about the source has changed
    with pytest.raises(SecretUnreadable):
        Secrets([OLD.encode()]).decrypt(after.secret_url)


def test_urls_of_channels_are_encrypted_anew_too(tmp_path: Path):
    with opened(tmp_path, OLD) as (host, _):
        Channels(host.store, host.secrets, host.clock).add(ChannelDraft("ops", "json://T0KEN", "json://***"))
    with opened(tmp_path, NEW, OLD) as (host, _):
        told = {part.kept.column.table.name: part.counts for part in rotate(host.store, host.secrets)}
        assert told["scheduled_query_channels"] == {"renewed": 1}
    with opened(tmp_path, NEW) as (host, _):
        channels = Channels(host.store, host.secrets, host.clock)
        assert [channels.url_of(channel) for channel in channels.all()] == ["json://T0KEN"]
