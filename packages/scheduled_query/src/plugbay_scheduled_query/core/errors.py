"""What can be wrong with a data source, in messages fit to be shown; runners load this and little else."""


class SourceError(Exception):
    """A source cannot answer; the message says why and is fit to be shown."""


class SourceRefusedError(SourceError):
    """A source must not be asked; the message says why and what to do instead."""


class SourceUnavailableError(Exception):
    """A source could not be looked at; the message says why, without its secrets."""


class SourceProblem(Exception):
    """A data source that cannot be used now, in a sentence."""
