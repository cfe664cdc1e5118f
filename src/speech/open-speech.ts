// Opens speech: engines, voices and synthesis.
import packageFile from '../../package.json' with { type: 'json' };
import { type EnginesOptions, openEngines, type Voice } from '../engines.ts';
import type { SettingValues } from '../platform/runtime/setting-types.ts';
import { createMetrics } from '../platform/telemetry/prometheus.ts';
import { Schedule } from './schedule.ts';
import type { speechSettings } from './settings.ts';
import type { StoredVoices } from './stored-voices.ts';
import { createSpeech } from './synthesize.ts';
import type { Lexicons } from './text-reading.ts';
import { openTranscriber } from './transcription.ts';
import { createVerifier } from './verification.ts';
import { createVoices } from './voice.ts';

interface OpenSpeechOptions extends EnginesOptions {
  /** `provenance` states whether files name their origin. */
  config: EnginesOptions['config'] &
    SettingValues<typeof speechSettings> & { provenance: 'on' | 'off'; provenanceOperator: string };
  stored?: StoredVoices | undefined;
  lexicons?: Lexicons | undefined;
  readChanges?: (() => Promise<unknown>) | undefined;
}

export async function openSpeech(options: OpenSpeechOptions) {
  const { config, stored, lexicons, readChanges, metrics = createMetrics(), log } = options;
  await using opened = new AsyncDisposableStack();
  const { engines, guards, close } = await openEngines({ ...options, metrics });
  opened.defer(close);
  const { defaultVoice } = config;
  const onLeftOut = (leftOut: readonly Voice[]) => {
    const message = 'voices are left out, because another engine has voices with the same ids';
    log?.('warn', message, {
      count: leftOut.length,
      voices: leftOut.slice(0, 10).map(({ engine, voiceId }) => `${voiceId} of ${engine}`),
    });
  };
  const voices = createVoices(engines, { stored, readChanges, preferred: defaultVoice, onLeftOut });
  // Voices are left out with a warning at the start, not with the first request.
  voices.leftOut();
  if (defaultVoice !== '' && !voices.lookUp(defaultVoice))
    log?.('warn', 'the voice of SONANT_DEFAULT_VOICE does not exist; using another default voice', {
      defaultVoice,
    });
  const { speakingMax, waitingMax, waitingSeconds, soundMemoryMb } = config;
  const schedule = new Schedule({ speakingMax, waitingMax, bytesMax: soundMemoryMb * 2 ** 20, metrics });
  metrics.gauge('sonant_engine_waiting', 'Requests and segments waiting for a slot of an engine.', () => {
    const { engines: lines } = schedule.state;
    return engines.map(
      ({ name }) => [{ engine: name }, lines.find((line) => line.name === name)?.waiting ?? 0] as const,
    );
  });
  const { transcriptionUrl: url, transcriptionApiKey: apiKey, transcriptionModel: model } = config;
  const transcribe = openTranscriber({ url, apiKey, model });
  const speech = createSpeech({
    voices,
    lexicons,
    schedule,
    guards,
    marking:
      config.provenance === 'off'
        ? undefined
        : { software: `Sonant ${packageFile.version}`, operator: config.provenanceOperator },
    verifier: transcribe && createVerifier(transcribe, { atOnceMax: config.transcriptionAtOnce }),
    waitMsMax: waitingSeconds * 1000,
  });
  const kept = opened.move();
  return { engines, voices, speech, close: () => kept.disposeAsync() };
}
