"""A plugin's settings as a form, and the form as changes to them. Pure: values in, values out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from plugbay.admin.settings_shape import Shape, shapes_of
from plugbay.admin.settings_text import NotUnderstood, choice_text, described, fitting, from_text, to_text
from plugbay.settings import settings_errors, variable_name

TYPE_AGAIN = "Type it again: what you typed is not sent back."


@dataclass(frozen=True)
class Current:
    """The values as they are; a required one that nobody gave is missing."""

    values: Mapping[str, Any]
    locked: Mapping[str, str] = field(default_factory=dict)
    """Field to the environment variable that decides it."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Field to the reason why its stored value gave way to the default."""
    stored: Collection[str] = ()


@dataclass(frozen=True)
class FormField:
    """One line of the form."""

    name: str
    label: str
    help: str
    variable: str
    shape: Shape
    text: str
    default: str
    is_locked: bool = False
    is_stored: bool = False
    replaced: str = ""
    error: str = ""

    @property
    def choices(self) -> list[str]:
        return [choice_text(choice) for choice in self.shape.choices]

    @property
    def is_multiline(self) -> bool:
        return self.shape.kind in ("lines", "json") or "\n" in self.text

    @property
    def line_count(self) -> int:
        return min(max(self.text.count("\n") + 1, 3), 12)


@dataclass(frozen=True)
class FormResult:
    """What to store and what to forget, or what is wrong by field; `""` is the form as a whole."""

    changes: dict[str, Any] = field(default_factory=dict)
    resets: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)


def form_fields(
    model: type[BaseModel],
    module: str,
    current: Current,
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[FormField]:
    """The form with the current values or, after an error, with what was typed."""
    shapes, fields = _shapes(model, current), []
    for name, info in model.model_fields.items():
        shape = shapes[name]
        was = to_text(shape, current.values.get(name))
        text, error = _shown(shape, was, None if name in current.locked else (typed or {}).get(name))
        fields.append(
            FormField(
                name=name,
                label=info.title or name.replace("_", " ").capitalize(),
                help=info.description or "",
                variable=variable_name(module, name),
                shape=shape,
                text=text,
                default=_default(info, shape),
                is_locked=name in current.locked,
                is_stored=name in current.stored and name not in current.locked,
                replaced=current.replaced.get(name, ""),
                error=(errors or {}).get(name, error),
            )
        )
    return fields


def read_form(model: type[BaseModel], current: Current, typed: Mapping[str, str]) -> FormResult:
    """What was typed, checked by the model; a field that was left as it was, or not sent, is not touched."""
    given: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, shape in _shapes(model, current).items():
        text = unified(typed.get(name, ""))
        was = unified(to_text(shape, current.values.get(name)))
        if name not in typed or name in current.locked or text == was:
            continue
        try:
            given[name] = from_text(shape, text)
        except NotUnderstood as error:
            errors[name] = str(error)
    checked, faults = _check(model, {**current.values, **given})
    if checked is None or errors:
        return FormResult(errors={**faults, **errors})
    changes = {name: getattr(checked, name) for name in given}
    return FormResult(changes, set(current.replaced) - set(changes))


def read_reset(model: type[BaseModel], current: Current, name: str) -> FormResult:
    """One field back to its default, if that fits the others."""
    others = {key: value for key, value in current.values.items() if key != name}
    checked, faults = _check(model, others)
    return FormResult(errors=faults) if checked is None else FormResult(resets={name})


def unified(text: str) -> str:
    """Browsers send each line break as two characters."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _shown(shape: Shape, was: str, typed: str | None) -> tuple[str, str]:
    """What the field contains, and what is wrong with that: a typed secret does not come back."""
    if typed is None or typed == was:
        return was, ""
    return (was, TYPE_AGAIN) if shape.is_secret else (typed, "")


def _shapes(model: type[BaseModel], current: Current) -> dict[str, Shape]:
    return {name: fitting(shape, current.values.get(name)) for name, shape in shapes_of(model).items()}


def _check(model: type[BaseModel], values: Mapping[str, Any]) -> tuple[BaseModel | None, dict[str, str]]:
    try:
        return model.model_validate(dict(values)), {}
    except ValidationError as error:
        return None, settings_errors(error)
    except Exception as error:  # the plugin's own validator is broken: its name helps to mend it
        return None, {"": f"The plugin could not check this: {type(error).__name__}: {error}"}


def _default(info: FieldInfo, shape: Shape) -> str:
    if info.is_required():
        return ""
    if info.default_factory is not None:
        try:
            return described(shape, info.get_default(call_default_factory=True, validated_data={}))
        except Exception:
            return "worked out from the other settings"
    return described(shape, info.default)
