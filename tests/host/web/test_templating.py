from typing import Any

import pytest
from jinja2 import DictLoader, TemplateNotFound
from plugbay.web.pages import Templates


@pytest.fixture
def templates() -> Templates:
    return Templates(lambda request: {})


def test_everything_is_escaped_whatever_the_name_ends_with(templates: Templates):
    templates.set_loaders(
        {"shop": DictLoader({"a.html": "{{ x }}", "a.html.j2": "{{ x }}", "a.txt": "{{ x }}"})}
    )
    for name in ("a.html", "a.html.j2", "a.txt"):
        assert templates.render(name, x="<script>") == "&lt;script&gt;"


def test_a_new_set_of_loaders_forgets_what_the_old_one_had(templates: Templates):
    templates.set_loaders({"shop": DictLoader({"shop/page": "old"})})
    assert templates.render("shop/page") == "old"
    templates.set_loaders({"shop": DictLoader({"shop/page": "new"})})
    assert templates.render("shop/page") == "new"
    templates.set_loaders({})
    with pytest.raises(TemplateNotFound):
        templates.render("shop/page")


def test_a_plugin_cannot_replace_a_template_of_the_host(templates: Templates):
    before = templates.env.get_template("plugbay/bare.html.j2").filename
    templates.set_loaders({"shop": DictLoader({"plugbay/bare.html.j2": "mine now"})})
    assert templates.env.get_template("plugbay/bare.html.j2").filename == before


def test_filters_and_globals_go_with_their_owner(templates: Templates):
    templates.add_filter("shop", "money", lambda value: f"{value} €")
    templates.add_global("shop", "currency", "€")
    templates.set_loaders({"shop": DictLoader({"p": "{{ 3 | money }} {{ currency }}"})})
    assert templates.render("p") == "3 € €"
    templates.remove_owner("shop")
    assert "money" not in templates.env.filters
    assert "currency" not in templates.env.globals


def test_an_owner_may_set_its_own_filter_again(templates: Templates):
    templates.add_filter("shop", "money", str)
    templates.add_filter("shop", "money", repr)
    assert templates.env.filters["money"] is repr


@pytest.mark.parametrize("name", ["upper", "money"])
def test_nobody_takes_a_name_that_belongs_to_another(templates: Templates, name: str):
    templates.add_filter("shop", "money", str)
    with pytest.raises(ValueError, match=f"thief cannot add '{name}' to the templates: it belongs to"):
        templates.add_filter("thief", name, repr)


def test_a_filter_and_a_global_of_one_name_may_have_different_owners(templates: Templates):
    templates.add_filter("shop", "money", str)
    templates.add_global("bank", "money", 5)
    templates.add_global("bank", "money", 6)
    templates.remove_owner("shop")
    assert "money" not in templates.env.filters
    assert templates.env.globals["money"] == 6


def test_a_name_that_is_set_again_and_again_is_remembered_once(templates: Templates):
    for number in range(3):
        templates.add_global("shop", "count", number)
    assert len(templates._additions) == 1


def page_with_header(templates: Templates) -> str:
    request: Any = None
    return bytes(templates.response(request, "page", {"name": "Ada"}).body).decode()


def test_a_part_of_the_header_has_the_context_of_the_page_and_goes_with_its_owner(templates: Templates):
    page = "{% for part in header_parts() %}{{ part }}{% endfor %}|page"
    templates.set_loaders({"shop": DictLoader({"page": page, "shop/bell": "<b>{{ name }} {{ '<' }}</b>"})})
    templates.add_to_header("shop", "shop/bell")
    assert page_with_header(templates) == "<b>Ada &lt;</b>|page"
    templates.remove_owner("shop")
    assert page_with_header(templates) == "|page"


def test_a_broken_part_of_the_header_is_left_out_and_logged(
    templates: Templates, caplog: pytest.LogCaptureFixture
):
    page = "{% for part in header_parts() %}{{ part }}{% endfor %}|page"
    templates.set_loaders(
        {"shop": DictLoader({"page": page, "shop/bad": "{{ 1 / 0 }}", "shop/good": "good"})}
    )
    for name in ("shop/bad", "shop/gone", "shop/good"):
        templates.add_to_header("shop", name)
    assert page_with_header(templates) == "good|page"
    assert "header_part_failed owner=shop template=shop/bad reason=ZeroDivisionError" in caplog.text
    assert "template=shop/gone reason=TemplateNotFound" in caplog.text
