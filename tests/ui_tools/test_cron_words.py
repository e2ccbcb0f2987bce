from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import assume, given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.schedule import BadCron, parse
from plugbay_ui_tools.cron_words import cron_words, describe_cron
from ui_tools.cron_reader import read_schedule

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0-59/5 * * * *", "every 5 minutes"),
        ("0,15,30,45 * * * *", "every 15 minutes"),
        ("3/15 * * * *", "every 15 minutes from minute 3"),
        ("*/7 * * * *", "every 7 minutes within each hour"),
        ("0 * * * *", "hourly"),
        ("17 * * * *", "hourly at minute 17"),
        ("5,20,50 * * * *", "at minutes 5, 20 and 50 of every hour"),
        ("0 */3 * * *", "every 3 hours"),
        ("17 */3 * * *", "every 3 hours from 00:17"),
        ("0 */5 * * *", "at minute 0 of hours 0, 5, 10, 15 and 20"),
        ("0 9-17 * * *", "hourly from 09:00 to 17:00"),
        ("*/5 9-17 * * *", "every 5 minutes from 09:00 to 17:55"),
        ("* 3 * * *", "every minute from 03:00 to 03:59"),
        ("0-30/10 8,20 * * *", "at minutes 0, 10, 20 and 30 of hours 8 and 20"),
        ("30 2 * * *", "daily at 02:30"),
        ("0 9,17 * * *", "daily at 09:00 and 17:00"),
        ("0,30 9,17 * * *", "daily at 09:00, 09:30, 17:00 and 17:30"),
        ("0 6 * * 1", "Mondays at 06:00"),
        ("0 6 * * mon", "Mondays at 06:00"),
        ("0 0 * * 0", "Sundays at 00:00"),
        ("0 0 * * 7", "Sundays at 00:00"),
        ("0 9 * * 1-5", "weekdays at 09:00"),
        ("0 9 * * MON-FRI", "weekdays at 09:00"),
        ("0 9 * * 6,7", "weekends at 09:00"),
        ("0 9 * * 1-4", "Mondays to Thursdays at 09:00"),
        ("0 9 * * 1,3,5", "Mondays, Wednesdays and Fridays at 09:00"),
        ("*/10 * * * 1-5", "every 10 minutes on weekdays"),
        ("0 0 1 * *", "monthly on day 1 at 00:00"),
        ("0 0 L * *", "monthly on the last day at 00:00"),
        ("0 0 LW * *", "monthly on the last weekday at 00:00"),
        ("5 4 1,15 * *", "at 04:05 on days 1 and 15 of the month"),
        ("0 0 */2 * *", "at 00:00 on every 2nd day of the month"),
        ("0 0 2-31/2 * *", "at 00:00 on every 2nd day from day 2 of the month"),
        ("0 0 1 1 *", "yearly on 1 January at 00:00"),
        ("0 0 1 jan,jul *", "at 00:00 on day 1 of the month in January and July"),
        ("0 6 * 6-8 *", "daily at 06:00 in June–August"),
        ("0 9 * * 5#2", "at 09:00 on the 2nd Friday of the month"),
        ("0 9 * * 5L,1", "at 09:00 on Mondays and the last Friday of the month"),
        ("@hourly", "hourly"),
        ("@daily", "daily at 00:00"),
        ("@weekly", "Sundays at 00:00"),
        ("@monthly", "monthly on day 1 at 00:00"),
        ("@yearly", "yearly on 1 January at 00:00"),
        (" @DAILY ", "daily at 00:00"),
    ],
)
def test_an_expression_reads_as_one_would_say_it(expression: str, words: str):
    assert describe_cron(expression) == words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 0 13 * 5", "at 00:00 on day 13 of the month and on Fridays"),
        ("0 0 */2 * 1", "at 00:00 on Mondays that fall on every 2nd day of the month"),
        ("0 0 1-7 * */7", "at 00:00 on Sundays that fall on days 1–7 of the month"),
        ("0 0 1-31 * 5", "daily at 00:00"),
        ("0 0 13 * 0-6", "daily at 00:00"),
        ("0 0 13 * *", "monthly on day 13 at 00:00"),
    ],
)
def test_two_day_fields_go_by_the_rule_of_debian(expression: str, words: str):
    assert describe_cron(expression) == words


BAD = [
    *("", "hello", "* * * *", "* * * * * *", "99 * * * *", "* * 31 2 *", "*/0 * * * *", "+5 * * * *"),
    *("@reboot", "@midnight", "@annually", "@daily @daily", "* * * * *" + " " * 120, "0 0 LW * */7"),
]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_expression_is_an_error_to_code_and_itself_on_a_page(bad: str):
    with pytest.raises(ValueError, match=r"five fields|Bad|no such day"):
        describe_cron(bad)
    assert cron_words(bad) == bad


def field(low: int, high: int, *extra: str) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(sorted).map(lambda ends: f"{ends[0]}-{ends[1]}")
    step = st.integers(1, high)
    stepped = st.builds("{}/{}".format, st.just("*") | span | number.map(str), step)
    item = st.one_of(number.map(str), span, stepped, *map(st.just, extra))
    return st.just("*") | item | st.lists(item, min_size=2, max_size=3).map(",".join)


EXPRESSIONS = st.tuples(
    field(0, 59),
    field(0, 23),
    field(1, 31, "L", "LW"),
    field(1, 12, "jan", "JUN", "feb-apr"),
    field(0, 7, "sun", "MON", "tue-thu", "5#2", "1#5", "3L", "7#1"),
).map(" ".join)
MOMENTS = st.integers(0, 2_200_000).map(lambda minutes: datetime(2023, 12, 25, tzinfo=UTC) + minutes * MINUTE)


def fires(expression: str, moment: datetime) -> bool:
    return next(CronSim(expression, moment - MINUTE), None) == moment


@given(EXPRESSIONS, MOMENTS)
def test_the_words_mean_what_the_expression_does(expression: str, moment: datetime):
    try:
        runs = list(islice(CronSim(expression, moment), 4))
    except CronSimError:
        assume(False)
    assume(runs)
    claim = read_schedule(describe_cron(expression))
    for run in runs:
        assert claim(run), f"{describe_cron(expression)} does not tell of {run}"
    for other in (moment, moment.replace(minute=0), moment.replace(hour=0, minute=0)):
        assert claim(other) == fires(expression, other), f"{describe_cron(expression)} is wrong about {other}"


@given(EXPRESSIONS | st.sampled_from(BAD) | st.text("0 */-,#@LWadily", max_size=12))
def test_what_has_words_is_what_the_service_takes(expression: str):
    try:
        is_taken = bool(parse(expression))
    except BadCron:
        is_taken = False
    assert (cron_words(expression) != expression) == is_taken


@given(field(0, 59), field(0, 23))
def test_within_a_day_no_time_is_left_out_and_none_added(minute: str, hour: str):
    expression = f"{minute} {hour} * * *"
    claim = read_schedule(describe_cron(expression))
    midnight = datetime(2026, 11, 15, tzinfo=UTC)
    told = {midnight + n * MINUTE for n in range(1440) if claim(midnight + n * MINUTE)}
    cron = CronSim(expression, midnight - MINUTE)
    assert told == {midnight.replace(hour=h, minute=m) for h in cron.hours for m in cron.minutes}
