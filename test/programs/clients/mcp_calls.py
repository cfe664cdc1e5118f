"""The calls of the official MCP client. The result of a tool that failed has `is_error`."""

import json
from contextlib import asynccontextmanager
from urllib.request import urlopen

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from ten_calls import given, run, sound

FORMS = {"opus": "ogg"}


@asynccontextmanager
async def connect(key=given.key):
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http:
        async with Client(streamable_http_client(given.url + "/mcp", http_client=http)) as client:
            yield client


async def speak(key=given.key, voice="clara", text=given.text, form="mp3", timeout=None, **more):
    request = {"text": text, "voice_id": voice, "output_format": form, **more}
    async with connect(key) as client:
        result = await client.call_tool("speak", request, timeout)
    first = result.content[0]
    if result.is_error:
        return {"refused": "is_error", "message": first.text}
    # The gateway of the tests has another address in its links.
    address = str(first.uri).replace("http://sonant.test", given.url)
    return sound(FORMS.get(form, form), urlopen(address).read())


async def voices():
    async with connect() as client:
        result = await client.call_tool("list_voices", {})
        return [voice["voice_id"] for voice in json.loads(result.content[0].text)["voices"]]


async def interrupt():
    try:
        raise AssertionError(await speak(text=given.long, timeout=0.5))
    except ExceptionGroup:
        """The timeout, as the client raises it."""


run(
    speak,
    forms=["mp3", "opus", "flac", "wav"],
    interrupt=interrupt,
    voices=voices,
    invalid=lambda: speak(speaking_rate=9),
)
