// Tests whether an Accept header allows a type.
import { expect, test } from 'vitest';
import { asksFor } from '../../../src/transports/net/headers.ts';

test.each([
  ['text/event-stream', true],
  ['application/json, Text/Event-Stream', true],
  ['text/event-stream; charset=utf-8, */*', true],
  ['text/event-stream;q=0.5, */*;q=0.8', true],
  ['audio/mpeg, text/event-stream;q=0', false],
  ['text/event-stream;q=0.1, audio/mpeg', false],
  ['audio/mpeg;q=0.2, text/event-stream; Q=0.9', true],
  ['x-text/event-stream', false],
  ['*/*', false],
  ['', false],
  [undefined, false],
])('Accept: %s asks for events: %s', (accept, isAsked) => {
  expect(asksFor(accept, 'text/event-stream')).toBe(isAsked);
});
