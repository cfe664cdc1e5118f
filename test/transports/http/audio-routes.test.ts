// Tests GET and HEAD /audio/{id}.{format}: the features that players and caches rely on work, and no path reaches
// another file.
import { afterAll, describe, expect, test } from 'vitest';
import { createId } from '../../../src/platform/runtime/id.ts';
import { parseRange } from '../../../src/transports/http/audio-routes.ts';
import { badKeys } from '../../conformance/clip-store.ts';
import { bytesOf, errorOf, openTestGateway } from './open-gateway.ts';
import { connectRaw, toAnswer } from './raw-http.ts';

const gateway = await openTestGateway({}, afterAll);
const made = await gateway.speak({ text: 'Hello there, world.' });
const url = gateway.here(((await made.json()) as { audio_url: string }).audio_url);
const whole = await bytesOf(await fetch(url));
const etag = `"${made.headers.get('X-Audio-Id')}"`;

describe('a file', () => {
  test('is sent complete, with the headers that a cache needs', async () => {
    const answer = await fetch(url);
    const headers = Object.fromEntries(answer.headers);
    expect([answer.status, headers]).toMatchObject([
      200,
      {
        'content-type': 'audio/wav',
        'content-length': String(whole.length),
        'accept-ranges': 'bytes',
        etag,
        'x-content-type-options': 'nosniff',
      },
    ]);
    const [, age] = /^public, max-age=(\d+), immutable$/.exec(headers['cache-control']!)!;
    expect(Number(age)).toBeGreaterThan(86_300);
    expect(Number(age)).toBeLessThanOrEqual(86_400);
    expect((await bytesOf(answer)).equals(whole)).toBe(true);
  });

  test('has a head without a body, which knows of no ranges', async () => {
    const answer = await fetch(url, { method: 'HEAD', headers: { Range: 'bytes=0-9' } });
    expect([answer.status, answer.headers.get('Content-Length'), await answer.text()]).toEqual([
      200,
      String(whole.length),
      '',
    ]);
    expect(answer.headers.get('Content-Type')).toBe('audio/wav');
  });

  test.each([
    ['bytes=0-99', 0, 100],
    ['bytes=100-', 100, undefined],
    ['bytes=-100', -100, undefined],
    ['bytes=43-44', 43, 45],
  ])('in part, %s', async (range, from, to) => {
    const answer = await fetch(url, { headers: { Range: range } });
    const part = whole.subarray(from, to);
    const first = from < 0 ? whole.length + from : from;
    expect([answer.status, answer.headers.get('Content-Range'), answer.headers.get('Content-Length')]).toEqual([
      206,
      `bytes ${first}-${first + part.length - 1}/${whole.length}`,
      String(part.length),
    ]);
    expect((await bytesOf(answer)).equals(part)).toBe(true);
  });

  test('in several parts comes whole', async () => {
    const answer = await fetch(url, { headers: { Range: 'bytes=0-9,20-29' } });
    expect([answer.status, (await bytesOf(answer)).length]).toEqual([200, whole.length]);
  });

  test('beyond its end has nothing', async () => {
    const answer = await fetch(url, { headers: { Range: `bytes=${whole.length}-` } });
    expect(answer.headers.get('Content-Range')).toBe(`bytes */${whole.length}`);
    expect([answer.status, await answer.json()]).toMatchObject([416, { error: 'range_not_satisfiable', status: 416 }]);
  });

  test.each([
    [etag, 206],
    [`W/${etag}`, 200],
    ['"another"', 200],
    ['Sat, 01 Jan 2030 00:00:00 GMT', 200],
  ])('in part if it is still %s', async (ifRange, status) => {
    const answer = await fetch(url, { headers: { Range: 'bytes=0-9', 'If-Range': ifRange } });
    expect(answer.status).toBe(status);
    await answer.arrayBuffer();
  });

  test.each([
    ['If-Match', etag, 200],
    ['If-Match', `"a", ${etag} ,"b"`, 200],
    ['If-Match', '*', 200],
    ['If-Match', '"another"', 412],
    ['If-Match', `W/${etag}`, 412],
    ['If-Match', '', 412],
    // Without a Last-Modified header, RFC 9110 requires this header to be ignored.
    ['If-Unmodified-Since', 'Sat, 01 Jan 2000 00:00:00 GMT', 200],
  ])('%s: %s is answered %i', async (name, value, status) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await fetch(url, { method, headers: { [name]: value } });
      expect([method, answer.status, (await bytesOf(answer)).length]).toEqual([
        method,
        status,
        method === 'HEAD' ? 0 : status === 200 ? whole.length : expect.any(Number),
      ]);
    }
  });

  test('is checked for If-Match first, then for If-None-Match, then for its range', async () => {
    const ask = (headers: Record<string, string>) => fetch(url, { headers: { Range: 'bytes=0-9', ...headers } });
    const refused = await ask({ 'If-Match': '"another"', 'If-None-Match': etag });
    expect(await errorOf(refused)).toEqual([412, 'precondition_failed']);
    expect((await ask({ 'If-Match': etag, 'If-None-Match': etag })).status).toBe(304);
    expect((await ask({ 'If-Match': etag, 'If-None-Match': '"another"' })).status).toBe(206);
  });

  test.each([
    [etag, 304],
    [`W/${etag}`, 304],
    [`"a", ${etag} ,"b"`, 304],
    ['*', 304],
    ['"another"', 200],
  ])('who has %s is answered %i', async (has, status) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await fetch(url, { method, headers: { 'If-None-Match': has, 'Cache-Control': 'max-age=0' } });
      expect([answer.status, answer.headers.get('ETag')]).toEqual([status, etag]);
      const { length } = await bytesOf(answer);
      if (status === 304) expect(length).toBe(0);
    }
  });
});

describe('an address', () => {
  test('with the wrong extension, or none, is not found', async () => {
    for (const other of ['mp3', 'pcm', 'WAV', 'wave', 'wav.wav', 'txt', '']) {
      expect(await errorOf(await fetch(url.replace(/wav$/, other))), other).toEqual([404, 'not_found']);
    }
    expect(await errorOf(await fetch(url.replace(/\.wav$/, '')))).toEqual([404, 'not_found']);
  });

  test('of an unknown clip is 404, of an expired one 410, and neither is cacheable', async () => {
    const never = await fetch(url.replace(/aud_\w+/, createId('aud', 128)));
    expect(never.headers.get('Cache-Control')).toBe('no-store');
    expect(await errorOf(never)).toEqual([404, 'not_found']);

    const brief = await openTestGateway({ retentionMs: 1 });
    const link = (await (await brief.speak({ text: 'Gone.' })).json()) as { audio_url: string };
    const gone = await fetch(brief.here(link.audio_url));
    expect(gone.headers.get('Cache-Control')).toBe('no-store');
    expect(await errorOf(gone)).toEqual([410, 'audio_expired']);
    expect((await fetch(brief.here(link.audio_url), { method: 'HEAD' })).status).toBe(410);
  });

  test('of a clip whose file is lost is not found', async () => {
    const answer = await gateway.speak({ text: 'Lost.' });
    await gateway.clips.remove(answer.headers.get('X-Audio-Id')!);
    const { audio_url } = (await answer.json()) as { audio_url: string };
    expect(await errorOf(await fetch(gateway.here(audio_url)))).toEqual([404, 'not_found']);
  });

  test.each([
    ...badKeys,
    '../sonant.db',
    '..%2fsonant.db',
    '%2e%2e/%2e%2e/etc/passwd',
    '....//....//etc/passwd',
    '%c0%ae%c0%ae/etc/passwd',
    'aud_%2e%2e%2f.wav',
    '%00.wav',
    '%zz.wav',
    'aud_01JD3Q8S6V5W2K9YB4XJ.wav%00.mp3',
  ])('such as %j opens no file', async (path) => {
    for (const address of [path, `${path}.wav`, encodeURIComponent(path), `${encodeURIComponent(path)}.wav`]) {
      const line = address.replace(/[^!-~]/g, (char) => encodeURIComponent(char));
      const raw = connectRaw(gateway);
      await raw.send(`GET /audio/${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      expect(toAnswer(await raw.end()).status, line).toBe(404);
    }
  });
});

test('a reader who stops in the middle leaves no file open', async () => {
  let open = 0;
  const original = gateway.clips.open.bind(gateway.clips);
  gateway.clips.open = async (key, range) => {
    const clip = await original(key, range);
    if (clip) {
      open++;
      clip.body.once('close', () => open--);
    }
    return clip;
  };
  const long = await gateway.speak({ text: 'word '.repeat(200), sample_rate: 48000 });
  const { audio_url } = (await long.json()) as { audio_url: string };
  const raws = Array.from({ length: 20 }, () => connectRaw(gateway));
  for (const raw of raws) {
    raw.socket.pause();
    await raw.send(`GET ${new URL(audio_url).pathname} HTTP/1.1\r\nHost: a\r\n\r\n`);
  }
  while (open < 20) await new Promise((resolve) => setTimeout(resolve, 5));
  for (const { socket } of raws) socket.destroy();
  while (open > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

test.each([
  [undefined, 'whole'],
  ['', 'whole'],
  ['bytes=0-0', [0, 0]],
  ['bytes=0-99', [0, 99]],
  ['bytes=10-19', [10, 19]],
  ['bytes=10-', [10, 99]],
  ['bytes=99-', [99, 99]],
  ['bytes=90-1000', [90, 99]],
  ['bytes=-1', [99, 99]],
  ['bytes=-100', [0, 99]],
  ['bytes=-1000', [0, 99]],
  ['BYTES=1-2', [1, 2]],
  ['bytes= 1-2 ', [1, 2]],
  ['bytes=1-2,', [1, 2]],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=100-200', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=100-,200-300', 'unsatisfiable'],
  ['bytes=0-1,5-9', 'whole'],
  [`bytes=${Array(100).fill('0-0')}`, 'whole'],
  [`bytes=${Array(101).fill('0-0')}`, 'unsatisfiable'],
  [`bytes=${Array(1500).fill('0-0')}`, 'unsatisfiable'],
  [`bytes=${Array(1500).fill('0-0')},x`, 'whole'],
  ['bytes=0-1,100-', 'whole'],
  ['bytes=2-1', 'whole'],
  ['bytes=-', 'whole'],
  ['bytes=a-b', 'whole'],
  ['bytes=1-2,x', 'whole'],
  ['bytes=0x1-2', 'whole'],
  ['bytes=--1', 'whole'],
  ['bytes=1.0-2', 'whole'],
  ['bytes=99999999999999999999-', 'whole'],
  ['items=0-1', 'whole'],
  ['bytes', 'whole'],
])('the range %s of a hundred bytes, according to RFC 9110 section 14', (header, expected) => {
  const range = parseRange(header, 100);
  expect(typeof range === 'string' ? range : [range.first, range.last]).toEqual(expected);
});

test('nothing satisfies a range of an empty file', () => {
  expect(parseRange('bytes=0-', 0)).toBe('unsatisfiable');
  expect(parseRange('bytes=-5', 0)).toBe('unsatisfiable');
});
