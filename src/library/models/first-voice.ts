// Fetches a natural voice for a service that has none, in the background: once at the start, and then every hour until
// there is a natural voice. Until then the service speaks with its synthetic voices.
import type { EngineDefinition } from '../../engines.ts';
import type { Log } from '../../platform/telemetry/log.ts';
import type { Voices } from '../../speech.ts';
import type { ModelInstalls } from './model-installs.ts';
import { firstModelOf } from './model-table.ts';

const retryMs = 3_600_000;

export interface FirstVoiceOptions {
  openEngines: readonly EngineDefinition[];
  installs: ModelInstalls;
  voices: Voices;
  log: Log;
  onFault(fault: unknown): void;
}

/** Returns a function that ends the attempts. The installation itself ends with `installs`. */
export function fetchFirstVoice({ openEngines, installs, voices, log, onFault }: FirstVoiceOptions): () => void {
  const name = firstModelOf(openEngines);
  const hasNatural = () => voices.list().some((voice) => voice.status === 'ready' && voice.isNatural);
  if (name === undefined || installs.isOffline || hasNatural()) return () => {};
  const attempt = async () => {
    if (hasNatural()) return clearInterval(timer);
    await installs.install(name, 'a service without a natural voice');
  };
  const timer = setInterval(() => void attempt().catch(onFault), retryMs).unref();
  log.info('there is no natural voice; it is fetched now, and a synthetic voice speaks until then', {
    model: name,
    toForbid: 'SONANT_FETCH_VOICE=off',
  });
  void attempt().catch(onFault);
  return () => clearInterval(timer);
}
