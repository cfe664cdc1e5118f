// Loads the voices of an engine whose list changes. A failed load, or an empty list that is not allowed, keeps the
// previous list. If the first load fails temporarily, the engine opens without voices and the load is retried.
import { Failure } from '../errors.ts';
import type { Voice } from './engine.ts';

interface VoiceListOptions {
  load(signal: AbortSignal): Promise<readonly Voice[]>;
  refreshMs?: number | undefined;
  /** Whether opening the engine fails if the first load of the list fails. */
  isNeededNow?: boolean | undefined;
  /** Whether an empty list is valid. */
  mayBeEmpty?: boolean | undefined;
}

const loadMsMax = 20_000;
const refreshMsUsual = 6 * 3_600_000;
/** Delay before the first load is retried. */
const firstListMs = 30_000;
const none: readonly Voice[] = [];

export async function openVoiceList(options: VoiceListOptions) {
  const { refreshMs = refreshMsUsual, isNeededNow = false, mayBeEmpty = false } = options;
  const closing = new AbortController();
  const load = () => options.load(AbortSignal.any([closing.signal, AbortSignal.timeout(loadMsMax)]));
  let voices = await load().catch((error) => {
    const mayPass = error instanceof Failure && error.facts.retryAfterSeconds !== undefined;
    if (mayPass && !isNeededNow) return undefined;
    throw error;
  });
  let timer: NodeJS.Timeout;
  const loadAgain = async () => {
    const listed = await load().catch(() => undefined);
    const isList = listed && (mayBeEmpty || listed.length > 0);
    if (isList && listed !== voices && JSON.stringify(listed) !== JSON.stringify(voices)) voices = listed;
  };
  let loading: Promise<void> | undefined;
  let isDue = false;
  /** Runs one load at a time. A call during a load starts another load after the current one. */
  const refresh = (): Promise<void> => {
    isDue = true;
    loading ??= (async () => {
      clearTimeout(timer);
      while (isDue && !closing.signal.aborted) {
        isDue = false;
        await loadAgain();
      }
      loading = undefined;
      if (!closing.signal.aborted) plan();
    })();
    return loading;
  };
  const plan = () => {
    timer = setTimeout(refresh, voices ? refreshMs : Math.min(refreshMs, firstListMs)).unref();
  };
  plan();
  return {
    /** The array is replaced when the voices change. */
    voices: (): readonly Voice[] => voices ?? none,
    /** Loads the list now. Resolves when it is loaded. */
    refresh,
    close(): void {
      closing.abort(new Failure('engine_unavailable'));
      clearTimeout(timer);
    },
  };
}
