// The voices of a remote engine, as listed when they were last loaded. A list that fails to load, or is empty, changes
// nothing. Where the first load fails in a way that may pass, the engine opens without voices and the load is retried.
import { Failure } from '../errors.ts';
import type { Voice } from './engine.ts';

export interface VoiceListOptions {
  load(signal: AbortSignal): Promise<readonly Voice[]>;
  refreshMs?: number | undefined;
  /** Whether to fail when the list is not available now. */
  isNeededNow?: boolean | undefined;
}

const loadMsMax = 20_000;
const refreshMsUsual = 6 * 3_600_000;
/** How soon the first load is retried. */
const firstListMs = 30_000;
const none: readonly Voice[] = [];

export async function openVoiceList(options: VoiceListOptions) {
  const { refreshMs = refreshMsUsual, isNeededNow = false } = options;
  const closing = new AbortController();
  const load = () => options.load(AbortSignal.any([closing.signal, AbortSignal.timeout(loadMsMax)]));
  let voices = await load().catch((error) => {
    const mayPass = error instanceof Failure && error.facts.retryAfterSeconds !== undefined;
    if (mayPass && !isNeededNow) return undefined;
    throw error;
  });
  let timer: NodeJS.Timeout;
  const refresh = async () => {
    const listed = await load().catch(() => none);
    if (listed.length > 0 && JSON.stringify(listed) !== JSON.stringify(voices)) voices = listed;
    if (!closing.signal.aborted) plan();
  };
  const plan = () => {
    timer = setTimeout(refresh, voices ? refreshMs : Math.min(refreshMs, firstListMs)).unref();
  };
  plan();
  return {
    /** A different array after they have changed. */
    voices: (): readonly Voice[] => voices ?? none,
    close(): void {
      closing.abort(new Failure('engine_unavailable'));
      clearTimeout(timer);
    },
  };
}
