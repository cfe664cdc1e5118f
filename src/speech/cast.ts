// The voices of a request: its own and those that its markup asks for, each found once, before anything is spoken, under
// the same rules. Each has the engines that can speak it; a casting chooses one of them for each voice.
import type { EngineCapabilities } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { type MarkedText, positionIn, type RunStyle, type VoiceName } from '../text/marked-text.ts';
import { type Binding, isSpokenBy, nearestVoice, type OfferedVoice, type Voices } from './voice.ts';

/** A voice that speaks in a request. */
export interface CastVoice {
  offered: OfferedVoice;
  /** What it speaks where the markup states nothing else. */
  languageCode: string;
  /** Those that speak the language, the best first, at least one. */
  bindings: readonly Binding[];
}

export interface Cast {
  main: CastVoice;
  /** The others, each once. */
  others: readonly CastVoice[];
  /** Who speaks in that style. */
  voiceOf(style: RunStyle): CastVoice;
}

/** Which engine speaks each voice. */
export type Casting = (voice: CastVoice) => Binding;

/** The most voices of one request besides its own. */
const othersMax = 20;

/** Those with what differs for the voice. */
export const capabilitiesOf = ({ engine, speaker }: Binding, languageCode: string): EngineCapabilities => ({
  ...engine.capabilities,
  ...engine.capabilitiesOf?.(speaker, languageCode),
});

interface CastOptions {
  /** Those that the caller may use. */
  voices: Voices;
  /** A Failure where the voice cannot speak at present. */
  checkReady(voice: OfferedVoice): void;
  /** The field that the texts came in. */
  field: string;
}

/** A Failure, naming the place, where there is no such voice for the caller, or it is not ready. */
export function findCast(main: CastVoice, texts: readonly MarkedText[], options: CastOptions): Cast {
  const byName = new Map<string, CastVoice>();
  const others = new Set<CastVoice>();
  for (const text of texts) {
    for (const item of text.items) {
      const wanted = item.kind === 'run' ? item.style.voice : undefined;
      if (!wanted || byName.has(wanted.names[0]!)) continue;
      const found = findVoice(wanted, text.source, options);
      const known = [main, ...others].find(({ offered }) => offered.voice.voiceId === found.voice.voiceId);
      const voice = known ?? toCastVoice(found, main.languageCode);
      byName.set(wanted.names[0]!, voice);
      if (voice !== main) others.add(voice);
      if (others.size > othersMax)
        throw refuse(
          options.field,
          text.source,
          wanted,
          'invalid_request',
          `more than ${othersMax} other voices; use fewer`,
        );
    }
  }
  return {
    main,
    others: [...others],
    voiceOf: ({ voice }) => (voice ? (byName.get(voice.names[0]!) ?? main) : main),
  };
}

function findVoice(wanted: VoiceName, source: string, { voices, checkReady, field }: CastOptions): OfferedVoice {
  for (const name of wanted.names) {
    try {
      const found = voices.find(name);
      checkReady(found);
      return found;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (error.reason === 'voice_not_found') continue;
      throw refuse(field, source, wanted, error.reason, error.message);
    }
  }
  const what = `no voice ${wanted.names[0]} exists for this key`;
  const meant = nearestVoice(wanted.names[0]!, voices.list());
  throw refuse(field, source, wanted, 'voice_not_found', meant ? `${what}; did you mean ${meant}?` : what);
}

function refuse(field: string, source: string, { at }: VoiceName, reason: Failure['reason'], what: string): Failure {
  const { line, column } = positionIn(source, at);
  const message = `line ${line}, column ${column}: ${what}`;
  return new Failure(reason, { details: [{ field, reason, message }] });
}

/** In the language of the request, if the voice speaks that; otherwise in its own. */
function toCastVoice(offered: OfferedVoice, requested: string): CastVoice {
  const { voice, bindings } = offered;
  const speakersOf = (languageCode: string) => bindings.filter(({ speaker }) => isSpokenBy(speaker, languageCode));
  const able = isSpokenBy(voice, requested) ? speakersOf(requested) : [];
  if (able.length > 0) return { offered, languageCode: requested, bindings: able };
  const languageCode = voice.languageCodes[0]!;
  const own = speakersOf(languageCode);
  return { offered, languageCode, bindings: own.length > 0 ? own : bindings };
}
