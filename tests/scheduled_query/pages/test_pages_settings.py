"""The settings page of the service: pickers, words for numbers, and a test message."""

import json

import pytest
from receivers import Receiver, running
from scheduled_query.api.conftest import Service

PAGE = "/admin/base_module/scheduled_query/settings"
TEST = "/scheduled_query/notifications/test"


def test_time_zones_and_sources_can_be_picked(service: Service):
    page = service.admin.get(PAGE).text
    assert '<option value="Europe/Berlin"></option>' in page
    assert '<option value="shop">shop</option>' in page
    assert '<option value="" selected>none</option>' in page


def test_no_limit_is_a_box_and_a_number_counts_without_it(service: Service):
    assert 'name="limit_history" value="-1" checked' in service.admin.get(PAGE).text
    try:
        saved = service.admin.post(PAGE, data={"limit_history": "50", "history_bytes": "2.5 MB"})
        assert saved.status_code == 303
        assert service.parts.settings().limit_history == 50
        assert service.parts.settings().history_bytes == 2_500_000
        service.admin.post(PAGE, data={"limit_history": ["50", "-1"]})  # the box comes after the field
        assert service.parts.settings().limit_history == -1
    finally:
        service.host.modules.save_settings("scheduled_query", {}, ["limit_history", "history_bytes"])


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # by Apprise, while it is imported
def test_a_test_message_goes_to_the_saved_addresses(service: Service):
    with running(Receiver()) as receiver, service.settings(notification_urls=receiver.url):
        answer = service.admin.post(TEST, headers={"Referer": f"http://testserver{PAGE}"})
        assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
        assert receiver.titles == ["Test message"]
        receiver.status = 500
        toast = json.loads(service.admin.post(TEST, headers={"HX-Request": "1"}).headers["HX-Trigger"])
        assert toast["toast"]["level"] == "error"
        assert "hunter2" not in str(toast)


def test_without_an_address_it_says_what_to_do(service: Service):
    answer = service.admin.post(TEST, headers={"HX-Request": "1"})
    assert "There is no address yet" in json.loads(answer.headers["HX-Trigger"])["toast"]["text"]
    assert service.editor.post(TEST).status_code == 403
