"""Headers that tell the browser what our pages may do, and what others may do with them."""

from typing import Any

from plugbay.auth.marks import NONCE

Header = tuple[bytes, bytes]

FIXED: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    # "no-referrer" would make our own forms send `Origin: null`
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    # static files say otherwise themselves
    (b"cache-control", b"no-store"),
)
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action {form_action}; frame-ancestors 'none'"
)


def with_security(headers: list[Header], state: dict[str, Any], form_action: str = "'self'") -> list[Header]:
    """The headers of a response of ours; what the response says itself stays."""
    policy = POLICY.format(nonce=state.get(NONCE, ""), form_action=form_action)
    given = {name.lower() for name, _ in headers}
    ours = (*FIXED, (b"content-security-policy", policy.encode("latin-1")))
    return [*headers, *(header for header in ours if header[0] not in given)]
