// Opens speech with engines for tests, with common requests and checks.
import { onTestFinished } from 'vitest';
import type { Caller } from '../../src/accounts/keys/caller.ts';
import type { Engine } from '../../src/engines/engine.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import type { SpeechEvent } from '../../src/speech/speech-events.ts';
import type { StoredVoices } from '../../src/speech/stored-voices.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import type { Lexicons } from '../../src/speech/text-reading.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone, type ToneOptions } from '../engines/tone-engine.ts';
import { collectSpeech } from './collect-speech.ts';
import { parseSpeechRequest } from './parse-request.ts';

const never = new AbortController().signal;

export interface SpeechSources {
  stored?: StoredVoices;
  lexicons?: Lexicons;
  waitMsMax?: number;
}

/** Opens speech with these engines, which the test closes. */
export function speechOf(engines: readonly Engine[], sources: SpeechSources = {}) {
  const schedule = new Schedule({ speakingMax: 200, waitingMax: 200 });
  const voices = createVoices(engines, sources);
  const speech = createSpeech({ voices, schedule, ...sources });
  const stream = (fields: object, signal = never, by: Caller = callerOf('test')) =>
    speech.streamSpeech(parseSpeechRequest({ sample_rate: 24000, ...fields }), by, signal);
  const whole = (fields: object, signal = never) => collectSpeech(stream(fields, signal));
  return { speech, voices, schedule, stream, whole };
}

/** Opens speech with the tone engine. */
export function openSpeech(options: ToneOptions = {}, sources: SpeechSources = {}) {
  const tone = openTone(options);
  onTestFinished(() => tone.close());
  const opened = speechOf([tone], sources);
  const stream = (fields: object, signal = never, by?: Caller) =>
    opened.stream({ voice_id: 'tone-low', ...fields }, signal, by);
  const whole = (fields: object, signal = never) => opened.whole({ voice_id: 'tone-low', ...fields }, signal);
  return { tone, schedule: opened.schedule, stream, whole };
}

/** The caller with this key. */
export const callerOf = (id: string): Caller => ({ callerId: id, accountId: id });
export const streaming = (...text_chunks: string[]) => ({ method: 'streaming', text_chunks });
export const collect = (events: AsyncIterable<SpeechEvent>) => Array.fromAsync(events);
export const joined = (events: readonly SpeechEvent[]) =>
  Buffer.concat(events.flatMap((event) => (event.type === 'audio' ? [event.audio] : [])));
export const samplesOf = (pcm: Uint8Array) =>
  new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.byteLength));
export const sentence = (i: number) => `This one has the number ${i}.`;
export const fifty = Array.from({ length: 50 }, (_, i) => sentence(i)).join(' ');
