// The voices of an engine that lives elsewhere, as its list was when it last came: one that does not come, or comes empty,
// takes nobody's voice away. Where it cannot be had at the start though that may pass, the start is not kept waiting.
import { Failure } from '../errors.ts';
import type { Voice } from './engine.ts';

export interface VoiceList {
  /** Another array when they have become others. */
  voices(): readonly Voice[];
  close(): void;
}

export interface VoiceListOptions {
  ask(signal: AbortSignal): Promise<readonly Voice[]>;
  refreshMs?: number | undefined;
  /** Whether to fail where the list cannot be had now. */
  isNeededNow?: boolean | undefined;
}

const askMs = 20_000;
const refreshMsUsual = 6 * 3_600_000;
/** How soon a list is asked for again that did not come at the start. */
const firstListMs = 30_000;
const none: readonly Voice[] = [];

export async function openVoiceList(options: VoiceListOptions): Promise<VoiceList> {
  const { refreshMs = refreshMsUsual, isNeededNow = false } = options;
  const closing = new AbortController();
  const ask = () => options.ask(AbortSignal.any([closing.signal, AbortSignal.timeout(askMs)]));
  let voices = await ask().catch((error) => {
    const mayPass = error instanceof Failure && error.facts.retryAfterSeconds !== undefined;
    if (mayPass && !isNeededNow) return undefined;
    throw error;
  });
  let timer: NodeJS.Timeout;
  const refresh = async () => {
    const listed = await ask().catch(() => none);
    if (listed.length > 0 && JSON.stringify(listed) !== JSON.stringify(voices)) voices = listed;
    if (!closing.signal.aborted) plan();
  };
  const plan = () => {
    timer = setTimeout(refresh, voices ? refreshMs : Math.min(refreshMs, firstListMs)).unref();
  };
  plan();
  return {
    voices: () => voices ?? none,
    close() {
      closing.abort(new Failure('engine_unavailable'));
      clearTimeout(timer);
    },
  };
}
