// Tests `verify` in all forms of speech: a recognizer hears whether each sentence says its text. Sentences whose words
// differ are listed, and spoken again where nothing was sent. A recognizer that is slow, dead or full, or answers with
// the words of another recording, changes nothing but the result of the check.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ReturnFormat, SpeechService, Verify } from '../../../gen/sonant/v1/speech_pb.ts';
import type { Pcm } from '../../../src/platform/pcm.ts';
import { openTranscriber } from '../../../src/speech/transcription.ts';
import { createVerifier } from '../../../src/speech/verification.ts';
import { openJobsGateway } from '../../clips/jobs/open-jobs.ts';
import { openTakes, speakFlite, spoil } from '../../engines/takes-engine.ts';
import { sentences } from '../../sentences.ts';
import { parseSpeechRequest } from '../../speech/parse-request.ts';
import {
  openTranscriptionServer,
  type Transcription,
  type TranscriptionAnswer,
} from '../../speech/transcription-server.ts';
import { openCore } from '../rpc/open-core.ts';
import { readEvents } from './event-reader.ts';
import { bytesOf } from './open-gateway.ts';
import { callLive } from './talk-live.ts';

const text = sentences[0]!;
const shorter = text.replace(' to the coast', '');
const waitMsMax = 300;

/** Takes, by what they say. */
let good: Pcm;
let skipped: Pcm;
let other: Pcm;
let server: Awaited<ReturnType<typeof openTranscriptionServer>>;
let answer: (asked: Transcription) => TranscriptionAnswer | Promise<TranscriptionAnswer>;

const says = (said: string, more: object = {}): TranscriptionAnswer => ({
  body: JSON.stringify({ text: said, ...more }),
});
/** What an honest recognizer hears. */
const honest = ({ sampleCount }: Transcription): TranscriptionAnswer => {
  const said = new Map([
    [good.samples.length, text],
    [skipped.samples.length, shorter],
    [other.samples.length, sentences[1]!],
  ]);
  return says(said.get(sampleCount) ?? text, { duration: sampleCount / good.sampleRateHz });
};

beforeAll(async () => {
  [good, skipped, other] = (await speakFlite([text, shorter, sentences[1]!])) as [Pcm, Pcm, Pcm];
  server = await openTranscriptionServer((asked) => answer(asked));
}, 60_000);
afterAll(() => server.close());
beforeEach(() => {
  server.asked.length = 0;
  answer = honest;
});

interface Outcome {
  /** X-Speech-Check, if the form has it. */
  check?: string | null | undefined;
  faults?: string[][];
  said?: (string | undefined)[];
  heard?: (string | undefined)[];
  unchecked?: number;
}

interface TakesTold {
  suspects?: { faults: string[]; said?: string; heard?: string }[];
  unchecked?: number;
}

const toOutcome = ({ suspects = [], unchecked = 0 }: TakesTold): Outcome => ({
  faults: suspects.map(({ faults }) => faults),
  said: suspects.map(({ said }) => said),
  heard: suspects.map(({ heard }) => heard),
  unchecked,
});

async function openForms(takes: readonly (Pcm | Error)[], { isOpen = true, waitMs = waitMsMax } = {}) {
  const engine = openTakes(takes);
  const transcriber = openTranscriber({ url: server.url, apiKey: '', model: 'whisper-1' })!;
  const verifier = createVerifier(transcriber, { atOnceMax: 4, waitMsMax: waitMs });
  const gateway = await openJobsGateway({ engines: [engine], ...(isOpen && { verifier }) });
  const grpc = (await openCore(gateway)).clientOf(SpeechService);
  const metadata = { 'x-api-key': gateway.key };
  const words = { output_format: 'pcm', sample_rate: 24_000 };
  const speak = (body: object) => gateway.speak({ ...words, ...body });
  const wholly = async (body: object): Promise<Outcome> => {
    const reply = await speak({ text, ...body });
    await bytesOf(reply);
    return { check: reply.headers.get('X-Speech-Check') };
  };
  const forms: Record<string, (verify: 'off' | 'report' | 'repair') => Promise<Outcome>> = {
    'REST, buffer': (verify) => wholly({ verify, return_format: 'buffer' }),
    'REST, link': (verify) => wholly({ verify }),
    async 'gRPC, unary'(verify) {
      const asked = { voiceId: 'tone-low', text, returnFormat: ReturnFormat.BUFFER, verify: Verify[upper(verify)] };
      await grpc.unary('synthesizeSpeech', asked, { metadata });
      return {};
    },
    async 'REST, stream'(verify) {
      await bytesOf(await speak({ method: 'streaming', text_chunks: [text], verify }));
      return {};
    },
    async SSE(verify) {
      const body = { voice_id: 'tone-low', ...words, text_chunks: [text], verify };
      const events = await readEvents(await gateway.send('/api/audio/speech/sse', { body }));
      return toOutcome(events.at(-1)!.data as TakesTold);
    },
    async 'gRPC, stream'(verify) {
      const asked = { voiceId: 'tone-low', textChunks: [text], verify: Verify[upper(verify)] };
      const events = await Array.fromAsync(grpc.stream('streamSpeech', asked, { metadata }));
      const { event } = events.at(-1)!;
      return event.case === 'done' ? toOutcome(event.value) : {};
    },
    async 'gRPC, live'(verify) {
      const events = await callLive(grpc, metadata, [
        { case: 'start', value: { voiceId: 'tone-low', verify: Verify[upper(verify)] } },
        { case: 'text', value: { text } },
        { case: 'end', value: {} },
      ]);
      const checked = events.find((event) => event.case === 'checked');
      // Without `verify`, a turn has no such event.
      return toOutcome((checked?.value ?? {}) as TakesTold);
    },
    async job(verify) {
      const { id } = await gateway.create({ chapters: undefined, text, verify });
      const { status, chapters } = await gateway.untilEnded(id);
      expect(status).toBe('succeeded');
      const { suspects, ...told } = chapters[0];
      return toOutcome({ ...told, suspects: suspects.map((each: { text: string }) => ({ ...each, said: each.text })) });
    },
  };
  const ask = async (form: string, verify: 'off' | 'report' | 'repair') => {
    const outcome = await forms[form]!(verify);
    return { ...outcome, takes: engine.segments.length };
  };
  return { ask, speak, grpc, metadata, engine, gateway };
}

const upper = (verify: string) => verify.toUpperCase() as 'OFF' | 'REPORT' | 'REPAIR';

const held = ['REST, buffer', 'REST, link', 'gRPC, unary', 'job'];
const streams = ['REST, stream', 'SSE', 'gRPC, stream', 'gRPC, live'];
const withCheck = ['REST, buffer', 'REST, link'];
const withList = ['SSE', 'gRPC, stream', 'gRPC, live', 'job'];
/** The outcome as this form reports it: with X-Speech-Check, with the list of suspects, or with neither. */
const told = (form: string, check: string, list: Outcome, takes: number) => ({
  ...(withCheck.includes(form) && { check }),
  ...(withList.includes(form) && list),
  takes,
});
const nothing: Outcome = { faults: [], said: [], heard: [], unchecked: 0 };
const differs: Outcome = { faults: [['words_differ']], said: [text.slice(0, -1)], heard: [shorter], unchecked: 0 };
const unheard: Outcome = { ...nothing, unchecked: 1 };

describe.each([...held, ...streams])('%s', (form) => {
  const ask = async (takes: readonly (Pcm | Error)[], verify: 'off' | 'report' | 'repair') =>
    (await openForms(takes)).ask(form, verify);

  test('the recognizer hears nothing unless it is asked to', async () => {
    expect(await ask([skipped], 'off')).toEqual(told(form, 'good', nothing, 1));
    expect(server.asked).toHaveLength(0);
  });

  test('speech that says its text is good', async () => {
    expect(await ask([good], 'report')).toEqual(told(form, 'good', nothing, 1));
    // The sentence resembles itself in one place, so both parts are heard too.
    expect(server.asked).toHaveLength(3);
  });

  test('a sentence with a skipped phrase is reported, and heard twice', async () => {
    expect(await ask([skipped], 'report')).toEqual(told(form, 'suspect', differs, 1));
    expect(server.asked).toHaveLength(2);
  });

  test('it is repaired where nothing was sent', async () => {
    const isHeld = held.includes(form);
    const expected = isHeld ? told(form, 'good', nothing, 2) : told(form, 'suspect', differs, 1);
    expect(await ask([skipped, good], 'repair')).toEqual(expected);
  });

  test('after two more takes, the best is sent', async () => {
    const takes = held.includes(form) ? 3 : 1;
    const first = held.includes(form) ? other : skipped;
    expect(await ask([first, skipped, other], 'repair')).toEqual(told(form, 'suspect', differs, takes));
  });

  test.each([
    ['is dead', () => ({ status: 500, body: '' })],
    ['is full', () => ({ status: 429, body: '', headers: { 'Retry-After': '1' } })],
    ['is silent', () => new Promise<never>(() => {})],
    ['hears a recording of another length', () => says(sentences[1]!, { duration: 60 })],
    ['answers with the words of the request before', late()],
  ])('nothing wrong is said if the recognizer %s', async (_, given) => {
    answer = given;
    expect(await ask([good, other], 'repair')).toEqual(told(form, 'unchecked', unheard, 1));
  });
});

/** A recognizer whose answers are for the request before, as after a lost answer. */
function late() {
  let before = sentences[2]!;
  return (asked: Transcription) => {
    const answered = says(before);
    before = JSON.parse(honest(asked).body).text;
    return answered;
  };
}

/** Speaks two turns live, and calls `onFlushed` at the end of each. Returns the order of the ends and checks. */
async function speakTwoTurns(onFlushed: (turn: number, write: (request: object) => void) => unknown) {
  const { grpc, metadata } = await openForms([skipped, good], { waitMs: 60_000 });
  const stream = grpc.bidi('liveSpeech', { metadata });
  const write = (request: object) => void stream.write({ request } as never);
  write({ case: 'start', value: { voiceId: 'tone-low', verify: Verify.REPORT } });
  for (let turn = 0; turn < 2; turn++) {
    write({ case: 'text', value: { text } });
    write({ case: 'flush', value: {} });
  }
  const order: string[] = [];
  for await (const { event } of stream) {
    if (event.case === 'flushed') await onFlushed(event.value.turn, write);
    if (event.case === 'flushed' || event.case === 'interrupted') order.push(`${event.case} ${event.value.turn}`);
    if (event.case === 'checked')
      order.push(`checked ${event.value.turn}: ${event.value.suspects.map((each: { heard: string }) => each.heard)}`);
    if (event.case === 'done') order.push('done');
  }
  return order;
}

test('a live turn does not wait until a recognizer has heard the turn before', async () => {
  const isOver = Promise.withResolvers<void>();
  answer = async (asked) => {
    await isOver.promise;
    return honest(asked);
  };
  const order = await speakTwoTurns((turn, write) => {
    if (turn === 0) return;
    write({ case: 'end', value: {} });
    isOver.resolve();
  });
  expect(order.slice(0, 2)).toEqual(['flushed 0', 'flushed 1']);
  expect(order.slice(2, 4).toSorted()).toEqual([`checked 0: ${shorter}`, 'checked 1: ']);
  expect(order.slice(4)).toEqual(['done']);
});

test('what a recognizer hears of an interrupted live turn is not told, and not waited for', async () => {
  answer = () => new Promise<never>(() => {});
  const order = await speakTwoTurns((turn, write) => {
    if (turn === 0) return;
    write({ case: 'interrupt', value: { turn: 0, playedMs: 10 } });
    write({ case: 'end', value: {} });
  });
  expect(order).toEqual(['flushed 0', 'flushed 1', 'interrupted 0', 'interrupted 1', 'done']);
});

test('a recognizer that hears an earlier turn is left when the live session fails', async () => {
  const asked = Promise.withResolvers<Transcription>();
  answer = (transcription) => {
    asked.resolve(transcription);
    return new Promise<never>(() => {});
  };
  const order = speakTwoTurns(async (_, write) => {
    await asked.promise;
    write({ case: 'start', value: { voiceId: 'tone-low' } });
  });
  await expect(order).rejects.toThrow('Send start once');
  await (await asked.promise).left;
});

test('a wrong recognizer cannot replace good audio by worse', async () => {
  const worse = spoil(good, 'silence');
  answer = ({ sampleCount }) => says(sampleCount === good.samples.length ? sentences[3]! : text);
  const { speak, engine } = await openForms([good, worse, worse]);
  const reply = await speak({ text, verify: 'repair', return_format: 'buffer' });
  const seconds = Number(reply.headers.get('X-Audio-Duration'));
  await bytesOf(reply);
  expect(engine.segments).toHaveLength(3);
  expect(reply.headers.get('X-Speech-Check')).toBe('suspect');
  expect(seconds).toBeLessThan(worse.samples.length / worse.sampleRateHz);
});

test('retakes are not charged', async () => {
  const { speak } = await openForms([skipped, good]);
  const reply = await speak({ text, verify: 'repair', return_format: 'buffer' });
  await bytesOf(reply);
  expect(reply.headers.get('X-Chars-Charged')).toBe(String(text.length));
});

test('audio that was not checked does not answer a request with a check', async () => {
  const { speak } = await openForms([good]);
  const ask = async (verify?: string) => {
    const reply = await speak({ text, return_format: 'buffer', ...(verify && { verify }) });
    await bytesOf(reply);
    return ['X-Cache', 'X-Speech-Check'].map((name) => reply.headers.get(name));
  };
  expect(await ask()).toEqual(['MISS', 'good']);
  expect(await ask('off')).toEqual(['HIT', 'good']);
  answer = () => ({ status: 500, body: '' });
  expect(await ask('report')).toEqual(['MISS', 'unchecked']);
  answer = honest;
  expect(await ask('report')).toEqual(['MISS', 'good']);
  expect(await ask('report')).toEqual(['HIT', 'good']);
});

test('without a transcription server, a request that needs one is refused', async () => {
  const { speak, grpc, gateway, metadata } = await openForms([good], { isOpen: false });
  const details = [
    { field: 'verify', reason: 'unsupported', message: expect.stringMatching(/SONANT_TRANSCRIPTION_URL/) },
  ];
  for (const reply of [
    await speak({ text, verify: 'report' }),
    await speak({ method: 'streaming', text_chunks: [text], verify: 'repair' }),
    await gateway.sendJobs('', { body: { voice_id: 'tone-low', text, verify: 'report' } }),
  ]) {
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ error: 'invalid_request', details });
  }
  const asked = { voiceId: 'tone-low', text, verify: Verify.REPORT };
  await expect(grpc.unary('synthesizeSpeech', asked, { metadata })).rejects.toMatchObject({ code: 3 });
  expect((await speak({ text, verify: 'off' })).status).toBe(200);
});

test('a retake that would miss the deadline of the caller is given up, and the first take is sent', async () => {
  const { gateway, engine } = await openForms([spoil(good, 'silence')]);
  const { speak } = engine;
  engine.speak = async function* (segment, signal) {
    if (segment.isAgain)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    yield* speak(segment, signal);
  };
  const request = parseSpeechRequest({ voice_id: 'tone-low', text, output_format: 'pcm', verify: 'repair' });
  const caller = { callerId: 'caller', accountId: 'caller', deadlineMs: performance.now() + 4_000 };
  const events = await Array.fromAsync(gateway.speech.streamSpeech(request, caller, new AbortController().signal));
  expect(events.at(-1)).toMatchObject({ type: 'done', suspects: [{ faults: ['silence'] }] });
});

test('a caller who leaves ends the retake', async () => {
  const { gateway, engine } = await openForms([skipped]);
  const begun = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const { speak } = engine;
  engine.speak = async function* (segment, signal) {
    if (segment.isAgain) {
      signal.addEventListener('abort', () => left.resolve());
      begun.resolve();
      await left.promise;
    }
    yield* speak(segment, signal);
  };
  const leaving = new AbortController();
  const body = { text, verify: 'repair', return_format: 'buffer' };
  const reply = gateway.speak(body, { signal: leaving.signal });
  await begun.promise;
  leaving.abort();
  await expect(reply).rejects.toThrow();
  await left.promise;
});
