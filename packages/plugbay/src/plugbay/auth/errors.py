"""What can be wrong with a name, a password, a token or an attempt; the sentences are shown to people."""

from plugbay.errors import PlugbayError


class AccountError(PlugbayError):
    """The account cannot be changed like this."""


class NameRefused(AccountError):
    """A user's name has 1 to {most} visible characters, no colon, and no space at either end."""


class NameTaken(AccountError):
    """There is already a user named {name!r}."""


class PasswordRefused(AccountError):
    """A password has {least} to {most} characters."""


class PasswordMissing(AccountError):
    """A password is needed: type it at the prompt, or give it on standard input."""


class LabelRefused(AccountError):
    """A token's name has 1 to {most} visible characters."""


class UnknownUser(AccountError):
    """There is no user named {name!r}."""


class UnknownRole(AccountError):
    """The role must be viewer, editor or admin; not {role!r}."""


class LastAdmin(AccountError):
    """{name} is the only admin: make another user an admin first."""


class TooManyTokens(AccountError):
    """A user has at most {most} tokens: revoke one first."""


class TooManyAttempts(PlugbayError):
    """Too many attempts. Try again in {retry_after} seconds."""

    @property
    def retry_after(self) -> int:
        return int(self.facts["retry_after"])
