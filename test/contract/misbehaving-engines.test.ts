// Tests requests while the engine's server misbehaves, in the running service through each API: a success is complete
// and sent once, a failure follows the contract, nothing hangs, nothing is repeated after audio was sent, and nothing
// continues at the server afterwards.
import { status as code } from '@grpc/grpc-js';
import { describe, test } from 'vitest';
import { wavOfBytes } from '../audio/recording-files.ts';
import type { GoogleTrouble } from '../engines/google-server.ts';
import type { ServerTrouble } from '../engines/openai-server.ts';
import {
  openMisbehaving,
  type ReportedFailure,
  type SpeechOutcome,
  type TransportName,
  type Trouble,
  transportNames,
} from './open-misbehaving.ts';

/** A second and a half of tones, in one segment. */
const text = 'One two three four.';
/** About half of the audio. */
const bytes = 40_000;
const shortMs = 100;
/** Long enough for the call to reach the vendor on a busy machine, because the test counts calls there. */
const firstSoundMsMax = 500;
const secret = 'words of the vendor';

const statuses = {
  engine_error: [502, 'INTERNAL'],
  engine_unavailable: [503, 'UNAVAILABLE'],
  engine_timeout: [504, 'DEADLINE_EXCEEDED'],
} as const;

interface End {
  requests: number;
  /** Failure before any audio (`refused`) or after some (`broken`); both are absent if the audio is complete. */
  refused?: keyof typeof statuses;
  broken?: keyof typeof statuses;
  retryAfter?: number;
}
interface Misbehaviour extends Trouble {
  /** The misbehaviour for a Google voice that needs one call per segment. */
  batch?: GoogleTrouble;
  patience?: { firstSoundMsMax?: number; stallMsMax?: number };
  end: End;
}

const failing = (times: number, status: number): ServerTrouble => ({
  failures: { count: times, status, body: secret },
});
const refusing = (times: number, as: number): { google: GoogleTrouble; batch: GoogleTrouble } => {
  const trouble = { failures: { count: times, code: as, told: secret } };
  return { google: trouble, batch: trouble };
};
/** Delays each message, so that audio sent before a break is received. */
const gently = { messageDelayMs: 5 };
const late = { firstDelayMs: 150 };
const never = { firstDelayMs: 60_000 };

const misbehaviours: Record<string, Misbehaviour> = {
  'is slow to begin': {
    ...{ openAi: { pieceBytes: 1 << 24, pieceDelayMs: 150 }, google: late, batch: late },
    end: { requests: 1 },
  },
  'says nothing': {
    ...{ openAi: { isMute: true }, google: never, batch: never },
    ...{ patience: { firstSoundMsMax }, end: { refused: 'engine_timeout', requests: 1 } },
  },
  'stalls in the middle': {
    ...{ openAi: { stallAfterBytes: bytes }, google: { after: { bytes, what: 'stall' } } },
    ...{ patience: { stallMsMax: shortMs }, end: { broken: 'engine_timeout', requests: 1 } },
  },
  'is cut off within a sample': {
    ...{
      openAi: { cutAfterBytes: bytes + 1 },
      google: { ...gently, messageBytes: 4_801, after: { bytes, what: 'break', code: code.INTERNAL } },
    },
    end: { broken: 'engine_error', requests: 1, retryAfter: 1 },
  },
  'ends in peace within a sample': {
    google: { messageBytes: 4_801, after: { bytes, what: 'end' } },
    end: { broken: 'engine_error', requests: 1 },
  },
  'is lost in the middle': {
    google: { ...gently, after: { bytes, what: 'lose' } },
    end: { broken: 'engine_unavailable', requests: 1, retryAfter: 1 },
  },
  'fails once': { openAi: failing(1, 500), ...refusing(1, code.INTERNAL), end: { requests: 2 } },
  'fails always': {
    ...{ openAi: failing(Infinity, 500), ...refusing(Infinity, code.INTERNAL) },
    end: { refused: 'engine_error', requests: 3, retryAfter: 1 },
  },
  'does not know the login any more': {
    ...{ openAi: failing(Infinity, 401), ...refusing(Infinity, code.UNAUTHENTICATED) },
    end: { refused: 'engine_unavailable', requests: 1, retryAfter: 1 },
  },
  'sends nothing': {
    openAi: { instead: { type: 'audio/pcm', body: '' } },
    google: { sound: Buffer.alloc(0) },
    batch: { sound: wavOfBytes(24_000, Buffer.alloc(0)) },
    // A segment whose audio is silent is requested once more.
    end: { refused: 'engine_error', requests: 2 },
  },
  'sends what is no sound': {
    openAi: { instead: { type: 'audio/pcm', body: `{"error":"${secret}"}` } },
    google: { sound: Buffer.from(`RIFF ${secret}, and not a word of sound`) },
    batch: { sound: Buffer.from(`<html>${secret}</html>`) },
    end: { refused: 'engine_error', requests: 1 },
  },
  'names a rate that no sound has': {
    ...{ openAi: { wavRateHz: 400_000_000 }, batch: { wavRateHz: 4_000 } },
    end: { refused: 'engine_error', requests: 1 },
  },
};

const vendors = {
  'openai-compatible': { voice: 'tone-low', troubleOf: ({ openAi }: Misbehaviour) => openAi && { openAi } },
  google: { voice: 'en-US-Chirp3-HD-Charon', troubleOf: ({ google }: Misbehaviour) => google && { google } },
  'google, a call at a time': {
    voice: 'en-GB-Neural2-A',
    troubleOf: ({ batch }: Misbehaviour) => batch && { google: batch },
  },
};

/**
 * The failure that an API is expected to report. APIs that send complete audio report every failure like a refusal; a
 * cut REST stream reports no reason.
 */
function expectedAt(gateway: TransportName, { refused, broken, retryAfter }: End): SpeechOutcome['failure'] {
  const error = refused ?? broken;
  if (error === undefined) return undefined;
  const isAfter = broken !== undefined && !gateway.endsWith('whole');
  if (isAfter && gateway === 'REST, streamed') return 'cut';
  const [ofHttp, ofGrpc] = statuses[error];
  const isTold = retryAfter !== undefined && !(isAfter && gateway === 'events');
  return { status: gateway.startsWith('gRPC') ? ofGrpc : ofHttp, error, ...(isTold && { retryAfter }) };
}

describe.concurrent.each(Object.entries(vendors))('%s', (_, { voice, troubleOf }) => {
  const own = Object.entries(misbehaviours).flatMap(([what, one]) => {
    const trouble = troubleOf(one);
    return trouble ? [{ what, trouble, patience: one.patience ?? {}, end: one.end }] : [];
  });

  test.for(own)('$what', async ({ trouble, patience, end }, { onTestFinished, expect }) => {
    const service = await openMisbehaving(onTestFinished);
    const { sound: whole } = await service.transports['REST, whole'](voice, text);
    for (const name of transportNames) {
      const before = service.requestCount();
      service.misbehave(trouble);
      service.wait(patience);
      const { sound, failure, words } = await service.transports[name](voice, text);
      expect(failure, name).toEqual(expectedAt(name, end));
      expect(service.requestCount() - before, name).toBe(end.requests);
      expect(words).not.toMatch(new RegExp(`${secret}|127.0.0.1|Google`));
      if (failure === undefined) expect(sound.equals(whole), name).toBe(true);
      else expect(whole.subarray(0, sound.length).equals(sound), name).toBe(true);
      const isHeard = end.refused === undefined && !(end.broken && name.endsWith('whole'));
      expect(sound.length > 0, name).toBe(isHeard);
      await expect.poll(service.running, { message: name }).toBe(0);

      if (failure === undefined) continue;
      // The engine works again; the breaker, which counts consecutive failures, stays closed.
      service.misbehave({});
      service.wait({});
      expect((await service.transports[name](voice, 'Well.')).failure, name).toBeUndefined();
    }
    // Each fault is logged once with its reason.
    const isTold = (line: string) =>
      line.includes(`"reason":"${end.refused ?? end.broken}"`) && line.includes('"cause":');
    const toldTimes = end.refused || end.broken ? transportNames.length : 0;
    await expect.poll(() => service.logged.filter(isTold).length).toBe(toldTimes);
    expect(await service.readMetric('sonant_speaking')).toEqual([0]);
    expect(await service.readMetric('sonant_engine_waiting')).toEqual([0, 0]);
  });
});

describe.concurrent.each(['openai-compatible', 'google'] as const)('%s, over its quota,', (vendor) => {
  const { voice, troubleOf } = vendors[vendor];
  const overQuota = (seconds: number): Trouble => {
    const trouble = { failures: { count: 1, code: code.RESOURCE_EXHAUSTED, retrySeconds: seconds, told: secret } };
    const openAi = { failures: { count: 1, status: 429, headers: { 'Retry-After': String(seconds) }, body: secret } };
    return troubleOf({ openAi, google: trouble, end: { requests: 0 } })!;
  };

  test('is not called before its Retry-After, which every client receives', async ({ onTestFinished, expect }) => {
    const service = await openMisbehaving(onTestFinished);
    service.misbehave(overQuota(30));
    const waits: number[] = [];
    for (const name of ['events', ...transportNames] as const) {
      const { sound, failure } = await service.transports[name](voice, text);
      const { retryAfter, ...told } = failure as ReportedFailure;
      const [ofHttp, ofGrpc] = statuses.engine_unavailable;
      expect(told, name).toEqual({ status: name.startsWith('gRPC') ? ofGrpc : ofHttp, error: 'engine_unavailable' });
      expect(sound.length).toBe(0);
      waits.push(retryAfter!);
    }
    expect(waits[0]).toBe(30);
    for (const wait of waits) expect(wait > 20 && wait <= 30, `${wait}`).toBe(true);
    expect(service.requestCount()).toBe(1);
  });

  test.for([
    ['a short time is waited out', 1],
    ['a longer one is told, and it is heard again after that', 3],
  ] as const)('%s', async ([, seconds], { onTestFinished, expect }) => {
    const service = await openMisbehaving(onTestFinished);
    const { sound: whole } = await service.transports['REST, whole'](voice, text);
    service.misbehave(overQuota(seconds));
    const startMs = performance.now();
    const hear = () => service.transports['REST, streamed'](voice, text);
    const first = await hear();
    if (seconds > 2) expect(first.failure).toMatchObject({ error: 'engine_unavailable', retryAfter: seconds });
    else expect(first.failure).toBeUndefined();
    await expect.poll(async () => (await hear()).sound.equals(whole), { timeout: 20_000, interval: 100 }).toBe(true);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(seconds * 1000);
  });
});

test.concurrent('an unexpected sample rate is resampled', async ({ onTestFinished, expect }) => {
  const service = await openMisbehaving(onTestFinished);
  for (const { voice, troubleOf } of Object.values(vendors)) {
    service.misbehave({});
    const { sound: whole } = await service.transports['REST, whole'](voice, text);
    const sound = wavOfBytes(16_000, whole);
    const trouble = { openAi: { wavRateHz: 16_000 }, google: { sound }, batch: { wavRateHz: 16_000 } };
    service.misbehave(troubleOf({ ...trouble, end: { requests: 1 } })!);
    for (const name of transportNames) {
      const { sound: slower, failure } = await service.transports[name](voice, text);
      expect(failure, name).toBeUndefined();
      // The silence before and after the speech always has the same length.
      const [longer, usual] = [slower, whole].map(({ length }) => length - 0.16 * 24_000 * 2);
      // The silence between two segments is also trimmed to the same margins.
      expect(longer! / usual!, name).toBeCloseTo(24 / 16, 1);
    }
  }
});

describe.concurrent('a request that is heard already', () => {
  const long = Array.from({ length: 12 }, (_, i) => `Number ${i} is here.`).join(' ');
  const slow: ServerTrouble = { pieceBytes: 20_000, pieceDelayMs: 10 };

  test.for([
    ['goes on where a later part fails before any of it is heard', 1],
    ['breaks off where it fails again and again, and nothing heard is asked for again', Infinity],
  ] as const)('%s', async ([, times], { onTestFinished, expect }) => {
    const service = await openMisbehaving(onTestFinished);
    const { sound: whole } = await service.transports['REST, whole']('tone-low', long);
    const parts = service.texts();
    service.openAi.requests.length = 0;
    expect(parts.length).toBeGreaterThan(2);
    service.misbehave({ openAi: slow });
    const hearing = service.transports['REST, streamed']('tone-low', long);
    // The first two segments are requested at once.
    await expect.poll(() => service.texts().length, { interval: 5 }).toBe(2);
    expect(service.running()).toBeGreaterThan(0);
    service.misbehave({ openAi: { ...slow, ...failing(times, 500) } });
    const { sound, failure } = await hearing;
    const requests = service.texts();
    if (times === 1) {
      expect(failure).toBeUndefined();
      expect(sound.equals(whole)).toBe(true);
      // Two segments are requested at once: the next may be requested before the failed segment is repeated.
      expect(requests.toSorted()).toEqual([...parts, parts[2]].toSorted());
    } else {
      expect(failure).toBe('cut');
      expect(sound.length).toBeGreaterThan(0);
      expect(whole.subarray(0, sound.length).equals(sound)).toBe(true);
      expect(requests.slice(0, 2)).toEqual(parts.slice(0, 2));
      expect(requests.slice(2)).not.toContain(parts[0]);
      expect(requests.slice(2)).not.toContain(parts[1]);
      // The next segment fails at the same time. Five consecutive failures open the breaker, which may skip the third
      // try.
      expect([2, 3]).toContain(requests.filter((part) => part === parts[2]).length);
    }
    await expect.poll(service.running).toBe(0);
  });
});

test.concurrent('a voice of two engines is spoken by the second while the first is down', async ({
  onTestFinished,
  expect,
}) => {
  const service = await openMisbehaving(onTestFinished);
  const [charon, high] = ['en-US-Chirp3-HD-Charon', 'tone-high'];
  const bindings = [
    { engine: 'google', voice_id: charon },
    { engine: 'openai-compatible', voice_id: high },
  ];
  const made = await service.post('/api/voices', { voice_id: 'ada', name: 'Ada', bindings });
  expect(made.status).toBe(201);
  const hear = async (voice: string, gateway: TransportName = 'REST, whole') =>
    (await service.transports[gateway](voice, text)).sound;
  const [first, second] = [await hear(charon), await hear(high)];
  expect(first.equals(second)).toBe(false);
  expect((await hear('ada')).equals(first)).toBe(true);

  service.misbehave({ google: { isDown: true } });
  service.cloud.lose();
  for (const name of transportNames) expect((await hear('ada', name)).equals(second), name).toBe(true);
  service.misbehave({});
  await expect.poll(async () => (await hear('ada')).equals(first), { timeout: 30_000, interval: 100 }).toBe(true);
  for (const name of transportNames) expect((await hear('ada', name)).equals(first), name).toBe(true);
});
