"""JSON that Python reads but nobody can write again: refused before it reaches a database or an answer."""

import json

from fastapi import HTTPException
from starlette.requests import Request


async def refuse_broken_json(request: Request) -> None:
    """422 for NaN, infinities and half characters (lone surrogates) anywhere in a JSON body."""
    if "json" not in request.headers.get("content-type", "").lower() or not await request.body():
        return
    try:
        json.dumps(await request.json(), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        problem = {"type": "json_invalid", "loc": ["body"], "msg": "Not valid JSON text", "input": {}}
        raise HTTPException(422, [problem]) from None
