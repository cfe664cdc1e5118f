// Opens the pipeline like the service, but with the embedded engine only, so that figures do not depend on other installed
// engines. Records the segments that the pipeline requests from the engine.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApp } from '../../src/app/command-line.ts';
import { loadConfig } from '../../src/app/config.ts';
import type { Engine, EngineDefinition, Segment, Voice } from '../../src/engines/engine.ts';
import { flite } from '../../src/engines/flite/flite.ts';
import type { SpeechEvent } from '../../src/speech/speech-events.ts';
import { type CollectedSpeech, collectSpeech } from '../../test/speech/collect-speech.ts';
import { parseSpeechRequest } from '../../test/speech/parse-request.ts';

/** Fields of a request by their names in JSON. The voice defaults to the default voice. */
export type Fields = Readonly<Record<string, unknown>>;

export interface OpenedSpeech {
  voices: readonly Voice[];
  engine: Engine;
  /** All segments that were requested from the engine, oldest first. */
  segments: Segment[];
  stream(fields: Fields, signal?: AbortSignal): AsyncGenerator<SpeechEvent, void>;
  whole(fields: Fields): Promise<CollectedSpeech>;
  close(): Promise<void>;
}

/** Without `timings` the engine does not report word times. */
export async function openSpeech({ speakingMax = 64, timings = true } = {}): Promise<OpenedSpeech> {
  const segments: Segment[] = [];
  let engine: Engine | undefined;
  const watched: EngineDefinition = {
    ...flite,
    async open(settings, dataDir) {
      const opened = (await flite.open(settings, dataDir))!;
      engine = {
        ...opened,
        capabilities: { ...opened.capabilities, timings: timings && opened.capabilities.timings },
        speak(segment, signal) {
          segments.push(segment);
          return opened.speak(segment, signal);
        },
      };
      return engine;
    },
  };
  const folder = join(tmpdir(), 'sonant-bench-without-settings');
  const env = { SONANT_SPEAKING_MAX: String(speakingMax) };
  const app = await openApp(loadConfig({ env, folder, engines: [watched] }), [watched]);

  const voices = app.voices.list().map(({ voice }) => voice);
  const toRequest = (fields: Fields) => parseSpeechRequest({ voice_id: voices[0]!.voiceId, ...fields });
  const caller = { callerId: 'bench', accountId: 'bench' };
  const never = new AbortController().signal;
  return {
    voices,
    engine: engine!,
    segments,
    stream: (fields, signal = never) => app.speech.streamSpeech(toRequest(fields), caller, signal),
    whole: (fields) => collectSpeech(app.speech.streamSpeech(toRequest(fields), caller, never)),
    close: () => app.close(),
  };
}

/** Reads the events to the end without storing anything. Returns the seconds and bytes of audio. */
export async function drain(events: AsyncIterable<SpeechEvent>): Promise<{ seconds: number; byteCount: number }> {
  let drained = { seconds: 0, byteCount: 0 };
  for await (const event of events) if (event.type === 'done') drained = event;
  return drained;
}
