"""The pages that people live in."""

from plugbay_scheduled_query.pages.router import pages_router

__all__ = ["pages_router"]
