// Finds the cast of a request before anything is spoken: the request's own voice and the voices named in its markup.
// Each voice is found once, with the engines that can speak it. A `Casting` chooses one engine per voice. A `Rendering`
// is how a run of text is spoken: engine, voice, language, speed, pitch and volume. If an engine lacks a feature, the
// text is spoken plainly and the feature is reported as ignored.
import { joinOrigins, type Origin, sourceTypes } from '../audio.ts';
import type { EngineCapabilities, Segment, SegmentCheck, Voice } from '../engines.ts';
import { positionIn } from '../platform/count-chars.ts';
import { Failure, invalidField } from '../platform/errors.ts';
import { isSpokenBy } from '../platform/language-code.ts';
import type { Diction, MarkedText, RunStyle, TextCut, VoiceName } from '../text.ts';
import { autoLanguage, languageCodeDefault, ownLanguage, speakingRates } from './fields.ts';
import type { SpeechRequest } from './request.ts';
import type { VoiceStatus } from './stored-voices.ts';
import type { Binding, OfferedVoice, Voices } from './voice.ts';

/** A voice that speaks in a request. */
export interface CastVoice {
  offered: OfferedVoice;
  /** Language of the text, unless the markup states another language. */
  languageCode: string;
  /** Engines that speak the language, best first; at least one. */
  bindings: readonly Binding[];
}

export interface Cast {
  main: CastVoice;
  /** Voices named in the markup, without duplicates and without the main voice. */
  others: readonly CastVoice[];
  /** Returns the voice that speaks text of this style. */
  voiceOf(style: RunStyle): CastVoice;
}

/** Chooses an engine for a voice. */
export type Casting = (voice: CastVoice) => Binding;

/** Assigns the best engine to every voice. */
export const bestCasting: Casting = ({ bindings }) => bindings[0]!;

/** Maximum number of voices besides the request's main voice. */
const othersMax = 20;

/** The engine's capabilities for this voice and language. */
export const capabilitiesOf = ({ engine, speaker }: Binding, languageCode: string): EngineCapabilities => ({
  ...engine.capabilities,
  ...engine.capabilitiesOf?.(speaker, languageCode),
});

/** Finds the voice and its engines for the language, and completes the request. Throws if the voice is not ready. */
export function findVoice(usable: Voices, given: SpeechRequest): { request: SpeechRequest; main: CastVoice } {
  const voice = usable.find(given.voiceId);
  checkReady(voice);
  const request = completed(given, voice);
  const isAuto = request.languageCode === autoLanguage;
  const languageCode = isAuto ? voice.voice.languageCodes[0]! : request.languageCode;
  return { request, main: { offered: voice, languageCode, bindings: bindingsFor(voice, languageCode) } };
}

const completed = (request: SpeechRequest, { voice }: OfferedVoice): SpeechRequest => ({
  ...request,
  // An alias is replaced by the id of its voice.
  voiceId: voice.voiceId,
  languageCode: request.languageCode === ownLanguage ? voice.languageCodes[0]! : request.languageCode,
  // Captions need word times.
  timestamps: request.timestamps || request.captions.length > 0,
});

const unreadyMessages: Readonly<Record<Exclude<VoiceStatus, 'ready'>, string>> = {
  pending: 'The voice is still being created. Try again later.',
  failed: 'The voice could not be created. Delete it and create it again.',
  disabled: 'The voice is disabled. Its owner can enable it again.',
  consent_revoked: 'The person whose voice this is has withdrawn their consent.',
};

function checkReady(offered: OfferedVoice): void {
  const { status, bindings } = offered;
  if (status !== 'ready') throw new Failure('voice_not_ready', { message: unreadyMessages[status] });
  if (bindings.length > 0) return;
  const parts = offered.blend?.map(({ voiceId }) => voiceId);
  if (parts) {
    const message = `The voice is a blend of ${parts.join(' and ')}, and not all of them are available.`;
    throw new Failure('engine_unavailable', { message });
  }
  throw new Failure('engine_unavailable', { message: 'No engine that speaks this voice is configured.' });
}

/** The engines that speak the voice in the language. */
const bindingsIn = ({ voice, bindings }: OfferedVoice, languageCode: string): Binding[] =>
  isSpokenBy(voice, languageCode) ? bindings.filter(({ speaker }) => isSpokenBy(speaker, languageCode)) : [];

function bindingsFor(offered: OfferedVoice, languageCode: string): Binding[] {
  const { voice } = offered;
  const able = bindingsIn(offered, languageCode);
  if (able.length > 0) return able;
  const meant =
    languageCode === languageCodeDefault ? `; the default is ${languageCode}, so send ${voice.languageCodes[0]}` : '';
  const message = `must be a language of voice ${voice.voiceId}: ${voice.languageCodes.join(', ')}${meant}`;
  throw invalidField('language_code', 'unsupported_language', message);
}

export interface CastOptions {
  /** Voices that the caller may use. */
  voices: Voices;
  /** Name of the field that contains the texts. */
  field: string;
}

/**
 * Finds the voices. Throws a Failure with the position in the text if a voice does not exist for the caller or is not
 * ready.
 */
export function findCast(main: CastVoice, texts: readonly MarkedText[], options: CastOptions): Cast {
  const byName = new Map<string, CastVoice>();
  const others = new Set<CastVoice>();
  for (const text of texts) {
    for (const item of text.items) {
      const wanted = item.kind === 'run' ? item.style.voice : undefined;
      if (!wanted || byName.has(wanted.names[0]!)) continue;
      const found = findNamed(wanted, text.source, options);
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

function findNamed(wanted: VoiceName, source: string, { voices, field }: CastOptions): OfferedVoice {
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
  const meant = voices.nearest(wanted.names[0]!);
  throw refuse(field, source, wanted, 'voice_not_found', meant ? `${what}; did you mean ${meant}?` : what);
}

function refuse(field: string, source: string, { at }: VoiceName, reason: Failure['reason'], what: string): Failure {
  const { line, column } = positionIn(source, at);
  const message = `line ${line}, column ${column}: ${what}`;
  return new Failure(reason, { details: [{ field, reason, message }] });
}

/** Uses the requested language if the voice speaks it, and otherwise the first language of the voice. */
function toCastVoice(offered: OfferedVoice, requested: string): CastVoice {
  const able = bindingsIn(offered, requested);
  if (able.length > 0) return { offered, languageCode: requested, bindings: able };
  const languageCode = offered.voice.languageCodes[0]!;
  const own = bindingsIn(offered, languageCode);
  return { offered, languageCode, bindings: own.length > 0 ? own : offered.bindings };
}

/** Information about the installation that is written into files. */
export type Marking = Pick<Origin, 'software' | 'operator'>;

/** Returns the origin of a request whose engines are chosen by `casting`; undefined without marking. */
export function originOf(marking: Marking | undefined, { main, others }: Cast, casting: Casting): Origin | undefined {
  if (!marking) return undefined;
  const origins = [main, ...others].map((cast): Origin => {
    const { engine, speaker, openClone } = casting(cast);
    // The labels of a clone are ignored, because its owner chooses them.
    const model = openClone ? undefined : (speaker.labels.model ?? speaker.labels.base);
    const medium = engine.capabilities.isSynthetic ? 'algorithmicMedia' : 'trainedAlgorithmicMedia';
    return {
      ...marking,
      sourceType: `${sourceTypes}${medium}`,
      model: model === undefined ? engine.name : `${engine.name} ${model}`,
      voice: cast.offered.voice.voiceId,
    };
  });
  return joinOrigins(origins);
}

export interface Rendering extends Diction {
  /** The voice as callers see it. */
  voice: Voice;
  cast: CastVoice;
  /** Aborts when the voice may no longer be used. */
  ended: AbortSignal | undefined;
  binding: Binding;
  capabilities: EngineCapabilities;
  /** Speed passed to the engine; `tempo` is the factor by which the audio is stretched afterwards. */
  engineRate: number;
  tempo: number;
  /** Sum of the gains of the voice and the markup. */
  gainDb: number;
  pitch: number;
  /** The instructions and the seed of the request, if the engine supports them. */
  manner: Pick<Segment, 'instructions' | 'seed'>;
}

/** A cut, with the result of the checks of its audio once it was spoken. */
export type PlannedCut = TextCut<Rendering> & { check?: SegmentCheck };

interface RenderOptions {
  cast: Cast;
  casting: Casting;
  request: Pick<SpeechRequest, 'speakingRate' | 'normalize' | 'instructions' | 'seed'>;
  /** Called with the name of markup, or of a field, that has no effect. */
  ignore(what: string): void;
}

const gainDbMax = 12;

/** Returns a function that decides how text of a style is spoken. */
export function createRenderings(options: RenderOptions) {
  const renderings = new Map<CastVoice, Map<string, Rendering>>();
  return (style: RunStyle): Rendering => {
    const voice = options.cast.voiceOf(style);
    const known = renderings.get(voice) ?? new Map<string, Rendering>();
    renderings.set(voice, known);
    const { languageCode = '', isOwnLanguage, rate, gainDb, pitch } = style;
    const key = [languageCode, isOwnLanguage, rate, gainDb, pitch].join(' ');
    const rendering = known.get(key) ?? sameAs(render(voice, style, options), known.values());
    known.set(key, rendering);
    return rendering;
  };
}

/** Returns an identical rendering from `others`, or else `rendering`. */
function sameAs(rendering: Rendering, others: Iterable<Rendering>): Rendering {
  const keys = ['binding', 'languageCode', 'engineRate', 'tempo', 'gainDb', 'pitch'] as const;
  for (const other of others) if (keys.every((key) => other[key] === rendering[key])) return other;
  return rendering;
}

function render(cast: CastVoice, style: RunStyle, { casting, request, ignore }: RenderOptions): Rendering {
  const { offered, languageCode: usual } = cast;
  const binding = casting(cast);
  const wanted = style.languageCode;
  const speaks = (code: string) => isSpokenBy(offered.voice, code) && isSpokenBy(binding.speaker, code);
  if (wanted !== undefined && style.isOwnLanguage && !speaks(wanted)) ignore('lang');
  const languageCode = wanted !== undefined && speaks(wanted) ? wanted : usual;
  const capabilities = capabilitiesOf(binding, languageCode);
  const within = (value: number, { min, max }: { min: number; max: number }, what: string): number => {
    const possible = Math.min(Math.max(value, min), max);
    if (possible !== value) ignore(what);
    return possible;
  };
  const honoured = <Name extends 'instructions' | 'seed'>(name: Name) => {
    const value = request[name];
    if (value !== undefined && !capabilities[name]) ignore(name);
    return value !== undefined && capabilities[name] ? { [name]: value } : {};
  };
  const rate = within(request.speakingRate * style.rate, speakingRates, 'prosody.rate');
  const { min, max } = capabilities.speakingRates;
  const engineRate = Math.min(Math.max(rate, min), max);
  return {
    voice: offered.voice,
    cast,
    ended: offered.kept?.ended,
    binding,
    capabilities,
    languageCode,
    engineRate,
    tempo: rate / engineRate,
    gainDb: binding.speaker.gainDb + within(style.gainDb, { min: -Infinity, max: gainDbMax }, 'prosody.volume'),
    pitch: within(style.pitch, capabilities.pitches ?? { min: 1, max: 1 }, 'prosody.pitch'),
    manner: { ...honoured('instructions'), ...honoured('seed') },
    spellOut: request.normalize && !capabilities.readsNumbers,
    toPhonemes: (ipa) => binding.engine.toPhonemes?.(ipa, binding.speaker, languageCode),
  };
}
