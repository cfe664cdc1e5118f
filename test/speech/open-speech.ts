// Opens speech with the tone engine for tests, with common requests and checks.
import { onTestFinished } from 'vitest';
import { Schedule } from '../../src/speech/schedule.ts';
import type { SpeechEvent } from '../../src/speech/speech-events.ts';
import type { StoredVoices } from '../../src/speech/stored-voices.ts';
import { createSpeech } from '../../src/speech/synthesize.ts';
import type { Lexicons } from '../../src/speech/text-reading.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone, type ToneOptions } from '../engines/tone-engine.ts';
import { collectSpeech } from './collect-speech.ts';
import { parseSpeechRequest } from './parse-request.ts';

const caller = { callerId: 'test', accountId: 'test' };
const never = new AbortController().signal;

export interface SpeechSources {
  stored?: StoredVoices;
  lexicons?: Lexicons;
}

export function openSpeech(options: ToneOptions = {}, sources: SpeechSources = {}) {
  const tone = openTone(options);
  const schedule = new Schedule({ speakingMax: 100, waitingMax: 0 });
  const speech = createSpeech({ voices: createVoices([tone], sources), lexicons: sources.lexicons, schedule });
  onTestFinished(() => tone.close());
  const stream = (fields: object, signal = never) =>
    speech.streamSpeech(parseSpeechRequest({ voice_id: 'tone-low', sample_rate: 24000, ...fields }), caller, signal);
  const whole = (fields: object, signal = never) =>
    collectSpeech(
      speech.streamSpeech(parseSpeechRequest({ voice_id: 'tone-low', sample_rate: 24000, ...fields }), caller, signal),
    );
  return { tone, schedule, stream, whole };
}

export const streaming = (...text_chunks: string[]) => ({ method: 'streaming', text_chunks });
export const collect = (events: AsyncIterable<SpeechEvent>) => Array.fromAsync(events);
export const joined = (events: readonly SpeechEvent[]) =>
  Buffer.concat(events.flatMap((event) => (event.type === 'audio' ? [event.audio] : [])));
export const samplesOf = (pcm: Uint8Array) =>
  new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.byteLength));
export const sentence = (i: number) => `This one has the number ${i}.`;
export const fifty = Array.from({ length: 50 }, (_, i) => sentence(i)).join(' ');
