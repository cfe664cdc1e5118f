"""Makes the calls of a client one after another. Prints the result of each, or its exception, as JSON."""

import asyncio
import base64
import inspect
import json
import sys
from types import SimpleNamespace

given = SimpleNamespace(**json.load(sys.stdin))


def sound(form, *pieces):
    return {"form": form, "data": base64.b64encode(b"".join(pieces)).decode()}


async def settle(result):
    return await asyncio.wait_for(result, 60) if inspect.isawaitable(result) else result


async def make(calls):
    results = {}
    for name, call in calls.items():
        try:
            results[name] = await settle(call())
        except Exception as error:
            # Tasks of a group raise together; a user looks at the first cause.
            while causes := getattr(error, "exceptions", None):
                error = causes[0]
            results[name] = {"refused": type(error).__name__, "message": str(error)}
    print(json.dumps(results))


def run(speak, forms, interrupt, **calls):
    """`speak` speaks a text as one sound. It takes `key`, `voice`, `text` and, with `forms`, `form`."""

    async def formats():
        return {str(form): await settle(speak(form=form)) for form in forms}

    async def interrupt_and_speak():
        made = await settle(interrupt())
        return made if isinstance(made, dict) else {"late": 0, "next": await settle(speak())}

    async def quota():
        await settle(speak(key=given.limited))
        return await settle(speak(key=given.limited, text=given.text + "!"))

    every = {
        "whole": speak,
        "formats": formats,
        "interrupt": interrupt_and_speak,
        "unknown_voice": lambda: speak(voice="nobody"),
        "wrong_key": lambda: speak(key="snt_wrong"),
        "quota": quota,
        "too_long": lambda: speak(key=given.limited, text=given.long),
    }
    asyncio.run(make(every | calls))
