// Tests that an error for an unknown address has the format of the vendor whose client requests it.
import { afterAll, expect, test } from 'vitest';
import { openTestGateway } from '../http/open-gateway.ts';
import { connectRaw, toAnswer } from '../http/raw-http.ts';

const gateway = await openTestGateway({}, afterAll);
const { key } = gateway;

const message = expect.any(String);
const request_id = expect.stringMatching(/^req_/);
const shapes = {
  elevenlabs: (name: string) => ({ detail: { status: name, message, request_id } }),
  openai: (code: string) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
  cartesia: (error_code: string) => ({ error_code, title: message, message, request_id }),
  sonant: (error: string) => expect.objectContaining({ error, status: expect.any(Number), request_id }),
};
const bearer = { Authorization: `Bearer ${key}` };
const theirs = { 'xi-api-key': key };
const cartesia = { ...bearer, 'Cartesia-Version': '2026-03-01' };

/** Bypasses the check against the OpenAPI document, which contains none of these addresses. */
async function ask(method: string, path: string, headers: Record<string, string>) {
  const raw = connectRaw(gateway);
  const lines = Object.entries({ Host: 'a', Connection: 'close', ...headers }).map((line) => line.join(': '));
  await raw.send(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  const answer = toAnswer(await raw.end());
  return { ...answer, body: JSON.parse(String(answer.body)) };
}

test.each<[keyof typeof shapes, string, Record<string, string>]>([
  ['elevenlabs', '/v1/user/more', theirs],
  ['elevenlabs', '/v1/usage', theirs],
  ['elevenlabs', '/v1/history?page_size=1', theirs],
  ['elevenlabs', '/v1/history/x', theirs],
  ['elevenlabs', '/v1/models/eleven_v3/more', theirs],
  ['elevenlabs', '/v1/voices/lucy/samples/x', {}],
  ['elevenlabs', '/v1/text-to-speech', {}],
  ['elevenlabs', '/v2/voices/lucy', {}],
  ['elevenlabs', '/v2', {}],
  ['elevenlabs', '/v1', theirs],
  ['openai', '/v1/chat/completions', bearer],
  ['openai', '/v1/history', bearer],
  ['openai', '/v1/voicesome', bearer],
  ['openai', '/v1', {}],
  ['cartesia', '/tts', {}],
  ['cartesia', '/tts/infill', {}],
  ['cartesia', '/voices/lucy/accents', {}],
  ['cartesia', '/accents', cartesia],
  ['cartesia', '/infill/bytes', cartesia],
  ['sonant', '/voicesome', {}],
  ['sonant', '/api/v1/user', theirs],
  ['sonant', '/api/nothing', cartesia],
  ['sonant', '/v3/voices', theirs],
])('%s: %s', async (vendor, path, headers) => {
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
    const { status, body } = await ask(method, path, headers);
    expect([status, body], method).toEqual([404, shapes[vendor]('not_found')]);
  }
});

test.each<[keyof typeof shapes, string, Record<string, string>]>([
  ['elevenlabs', '/v1/voices/add', theirs],
  ['elevenlabs', '/v1/voices/lucy/settings', {}],
  ['openai', '/v1/models/tts-1', bearer],
  ['cartesia', '/voices', {}],
])('%s: only GET %s is allowed', async (vendor, path, headers) => {
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    const { status, body, headers: told } = await ask(method, path, headers);
    expect([status, body, told.allow], method).toEqual([405, shapes[vendor]('method_not_allowed'), 'GET, HEAD']);
  }
});
