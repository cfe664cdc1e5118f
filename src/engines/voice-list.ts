// Loads the voices of an engine whose list changes. A failed load, or an empty list that is not allowed, keeps the
// previous list. If a server lists the voices, the first load may fail: the engine then opens without voices, and the
// load is retried, because no answer of a server may stop a start. The voices of a server are limited and cleaned here.
import { Failure } from '../platform/errors.ts';
import { cleanText, isCleanText } from '../platform/net/upstream-answer.ts';
import type { EngineLog, Voice } from './engine.ts';

interface VoiceListOptions {
  load(signal: AbortSignal): Promise<readonly Voice[]>;
  refreshMs?: number | undefined;
  /** Whether opening the engine fails if the first load of the list fails. */
  isNeededNow?: boolean | undefined;
  /** Whether an empty list is valid. */
  mayBeEmpty?: boolean | undefined;
  /** Present if a server lists the voices. */
  server?: { engine: string; log?: EngineLog | undefined } | undefined;
}

const loadMsMax = 20_000;
const refreshMsUsual = 6 * 3_600_000;
/** Delay before the first load is retried. */
const firstListMs = 30_000;
const none: readonly Voice[] = [];
const voicesMax = 5_000;
const idCharsMax = 128;
const languages = { max: 100, charsMax: 35 };

export async function openVoiceList(options: VoiceListOptions) {
  const { refreshMs = refreshMsUsual, isNeededNow = false, mayBeEmpty = false, server } = options;
  const closing = new AbortController();
  let leftOut = 0;
  const load = async () => {
    const listed = await options.load(AbortSignal.any([closing.signal, AbortSignal.timeout(loadMsMax)]));
    if (!server) return listed;
    const clean = cleanVoices(listed);
    const count = listed.length - clean.length;
    const message = `voices are left out: invalid or duplicate ids, or over ${voicesMax}`;
    if (count > leftOut) server.log?.('warn', message, { engine: server.engine, count });
    leftOut = count;
    return clean;
  };
  let voices = await load().catch((error) => {
    if (isNeededNow || !server) throw error;
    server.log?.('warn', 'no list of voices; trying again later', { engine: server.engine, fault: error });
    return undefined;
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

/** The voices with valid ids, each id once. */
function cleanVoices(listed: readonly Voice[]): readonly Voice[] {
  const clean = new Map<string, Voice>();
  for (const voice of listed) {
    const { voiceId, name, description } = voice;
    const languageCodes = voice.languageCodes
      .slice(0, languages.max)
      .filter((code) => code.length <= languages.charsMax);
    const isValid = isCleanText(voiceId, idCharsMax) && languageCodes.length > 0;
    if (!isValid || clean.has(voiceId) || clean.size === voicesMax) continue;
    const texts = { name: cleanText(name) || voiceId, description: cleanText(description) };
    clean.set(voiceId, { ...voice, ...texts, languageCodes });
  }
  return [...clean.values()];
}
