"""Delivery: what waits in the outbox is sent, once in the cluster and in order, until it is taken."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from plugbay import Clock, SecretUnreadable, get_logger

from plugbay_scheduled_query.alerts.sending import Sender, in_time, is_alertmanager, sender_of
from plugbay_scheduled_query.core.alerting.model import DeliveryStatus
from plugbay_scheduled_query.repository.channels import Channel, Channels
from plugbay_scheduled_query.repository.outbox import Due, Outbox, Waiting

SETTLE = timedelta(seconds=1)  # of quiet, after which no more is expected to come with what waits
LONGEST_SETTLING = timedelta(seconds=10)  # within which more than five go as one message
LONGEST_PAUSE_MINUTES = 60  # between two attempts: they are 1, 2, 4 … minutes apart
GIVE_UP = timedelta(hours=24)
MOST_CHANNELS = 16  # that one process serves at the same time
RETRIED = "retried"

log = get_logger("plugbay.scheduled_query")

Held = dict[int, datetime]  # alerts that something of is not taken yet, and when it is tried again


class Delivery:
    """Serves channels, each in a thread of its own: a slow or dead one holds up no other."""

    def __init__(
        self,
        outbox: Outbox,
        channels: Channels,
        clock: Clock,
        public_url: Callable[[], str],
        call: Callable[[], object],
        call_at: Callable[[datetime], object],
    ) -> None:
        self._outbox = outbox
        self._channels = channels
        self._clock = clock
        self._public_url = public_url
        self._call = call
        self._call_at = call_at
        self._lock = threading.Lock()
        self._is_called = False
        self._is_closing = False
        self._threads: dict[int, threading.Thread] = {}
        self.counts: Counter[str] = Counter()

    def wake(self) -> None:
        """Has `run` called by the engine, unless that is about to happen anyway."""
        with self._lock:
            is_needed, self._is_called = not (self._is_called or self._is_closing), True
        if is_needed:
            try:
                self._call()
            except Exception:
                self.not_called()
                raise

    def not_called(self) -> None:
        """The engine did not take the call: the next one is made anew."""
        with self._lock:
            self._is_called = False

    def run(self, job: object = None) -> None:
        """Begins to send what is ready, and says when to look again for what is not."""
        self.not_called()
        now, later = self._clock.now(), []
        for due in self._outbox.due():
            if (ready_at := _ready_at(due)) > now:
                later.append(ready_at)
            else:
                self._begin(due.channel_id, self._serve)
        if later:
            self._call_at(min(later))

    def refresh(self) -> None:
        """Each minute: Alertmanagers forget what they are not told again."""
        for channel in self._channels.all():
            if is_alertmanager(channel.masked_url):
                self._begin(channel.id, self._tell_again)

    def close(self, grace_s: float) -> None:
        """Sends nothing more, and gives what is on its way a little time."""
        with self._lock:
            self._is_closing = True
            threads = list(self._threads.values())
        for thread in threads:
            thread.join(grace_s / max(1, len(threads)))

    def wait(self) -> None:
        """Until nothing is on its way any more: for tests."""
        while threads := list(self._threads.values()):
            for thread in threads:
                thread.join()

    def test(self, channel: Channel) -> str | None:
        """Sends a test message; returns why it was not taken."""
        sender = self._sender(channel)
        if isinstance(sender, str):
            return sender
        return in_time(lambda: sender.test(self._clock.now()))

    def _begin(self, channel_id: int, work: Callable[[Channel], None]) -> None:
        thread = threading.Thread(target=self._work, args=(channel_id, work), daemon=True)
        with self._lock:
            is_possible = channel_id not in self._threads and len(self._threads) < MOST_CHANNELS
            if not is_possible or self._is_closing:
                return  # it is served already, or looked at again when one of the others ends
            self._threads[channel_id] = thread
        thread.start()

    def _work(self, channel_id: int, work: Callable[[Channel], None]) -> None:
        try:
            channel = self._channels.get(channel_id)
            if channel is None or not self._outbox.claim(channel_id):
                is_more = False
            else:
                is_more = self._claimed(channel, work)
        except Exception as error:
            is_more = False  # the store is away: the next minute looks again
            log.warning("alert_delivery_failed", channel=channel_id, reason=type(error).__name__)
        finally:
            with self._lock:
                del self._threads[channel_id]
        if is_more:
            self.wake()

    def _claimed(self, channel: Channel, work: Callable[[Channel], None]) -> bool:
        try:
            work(channel)
        finally:
            self._outbox.release(channel.id)
        return bool(self._outbox.due())

    def _serve(self, channel: Channel) -> None:
        """Sends all that is due; one that is not taken holds back what its alert has to tell afterwards."""
        waiting = self._outbox.waiting(channel.id)
        by_event = {each.event.id: each for each in waiting}
        sender = self._sender(channel)
        if isinstance(sender, str):
            self._failed(channel, waiting, sender)
            return
        held: Held = {}
        for events in sender.parcels([each.event for each in waiting]):
            parcel = [by_event[event.id] for event in events]
            if self._is_closing or not self._outbox.renew(channel.id):
                return
            if len(parcel) == 1 and parcel[0].event.alert_id in held:
                self._outbox.postpone(parcel, held[parcel[0].event.alert_id])
            else:
                held |= self._send(channel, sender, parcel)

    def _send(self, channel: Channel, sender: Sender, parcel: Sequence[Waiting]) -> Held:
        """Sends one message; returns the alerts that have to wait, and until when."""
        error = in_time(lambda: sender.send([each.event for each in parcel]))
        if error is not None:
            return self._failed(channel, parcel, error)
        self._outbox.note_sent(parcel)
        self.counts[DeliveryStatus.SENT] += len(parcel)
        return {}

    def _failed(self, channel: Channel, parcel: Sequence[Waiting], error: str) -> Held:
        log.warning("alert_not_delivered", channel=channel.name, events=len(parcel), reason=error)
        now, by_time = self._clock.now(), defaultdict[datetime | None, list[Waiting]](list)
        for each in parcel:
            by_time[_next_attempt(each, now)].append(each)
        for next_at, those in by_time.items():
            self._outbox.note_failed(those, error, next_at)
            self.counts[RETRIED if next_at else DeliveryStatus.FAILED] += len(those)
        return {each.event.alert_id: at for at, those in by_time.items() if at for each in those}

    def _tell_again(self, channel: Channel) -> None:
        """What waits goes first: the end of an alert must not be told before that it still fires."""
        self._serve(channel)
        sender, firing = self._sender(channel), self._outbox.firing(channel.id)
        if not firing or isinstance(sender, str):
            return
        if error := in_time(lambda: sender.send(firing)):
            log.warning("alerts_not_refreshed", channel=channel.name, reason=error)

    def _sender(self, channel: Channel) -> Sender | str:
        try:
            return sender_of(self._channels.url_of(channel), self._public_url())
        except SecretUnreadable:
            return "the URL of this channel is unreadable: enter it again"


def _ready_at(due: Due) -> datetime:
    return min(due.newest + SETTLE, due.oldest + LONGEST_SETTLING)


def _next_attempt(waiting: Waiting, now: datetime) -> datetime | None:
    """1, 2, 4 … 60 minutes later, for a day; None: it is given up."""
    last = waiting.made_at + GIVE_UP
    if now >= last:
        return None
    pause = min(2 ** min(waiting.attempts, 10), LONGEST_PAUSE_MINUTES)
    return min(now + timedelta(minutes=pause), last)
