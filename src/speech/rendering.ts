// Decides how each run of a text is spoken: engine, voice, language, speed, pitch, volume, and any text that replaces
// the written text. If an engine lacks a feature, the text is spoken plainly and the feature is reported as ignored.
import type { EngineCapabilities, Segment, Voice } from '../engines.ts';
import {
  createOffsets,
  type FlatText,
  flatten,
  type MarkedItem,
  type MarkedRun,
  type MarkedText,
  type OffsetOf,
  type Resolve,
  type RunStyle,
  type Said,
  sayAs,
  sayText,
} from '../text.ts';
import { type Cast, type Casting, type CastVoice, capabilitiesOf } from './cast.ts';
import { speakingRates } from './fields.ts';
import type { SpeechRequest } from './request.ts';
import { type Binding, isSpokenBy } from './voice.ts';

export interface Rendering {
  /** The voice as callers see it. */
  voice: Voice;
  cast: CastVoice;
  /** Aborts when the voice may no longer be used. */
  ended: AbortSignal | undefined;
  binding: Binding;
  capabilities: EngineCapabilities;
  languageCode: string;
  /** Speed passed to the engine; `tempo` is the factor by which the audio is stretched afterwards. */
  engineRate: number;
  tempo: number;
  /** Sum of the gains of the voice and the markup. */
  gainDb: number;
  pitch: number;
  /** The instructions and the seed of the request, if the engine supports them. */
  manner: Pick<Segment, 'instructions' | 'seed'>;
  /** Whether numbers, signs and abbreviations are spelled out for the engine. */
  spellOut: boolean;
}

/** A run that is ready to be cut. */
export interface RenderedRun {
  run: MarkedRun;
  rendering: Rendering;
  /** Flattened text; undefined if the run is a complete text that is spoken as written. */
  flat: FlatText | undefined;
}

export type RenderedItem = RenderedRun | { pauseMs: number };

interface RenderOptions {
  cast: Cast;
  casting: Casting;
  request: Pick<SpeechRequest, 'speakingRate' | 'normalize' | 'instructions' | 'seed'>;
  /** Called with the name of markup, or of a field, that has no effect. */
  ignore(what: string): void;
}

const gainDbMax = 12;
/** Longest text that is spoken from phonemes. A longer text is spoken plainly, because it may have to be divided. */
const phonemeTextCharsMax = 30;

/** Returns a function that renders the items of a text. */
export function createRenderer(options: RenderOptions) {
  const renderings = new Map<CastVoice, Map<string, Rendering>>();
  const renderingOf = (style: RunStyle): Rendering => {
    const voice = options.cast.voiceOf(style);
    const known = renderings.get(voice) ?? new Map<string, Rendering>();
    renderings.set(voice, known);
    const { languageCode = '', isOwnLanguage, rate, gainDb, pitch } = style;
    const key = [languageCode, isOwnLanguage, rate, gainDb, pitch].join(' ');
    const rendering = known.get(key) ?? sameAs(render(voice, style, options), known.values());
    known.set(key, rendering);
    return rendering;
  };
  const aliases = new Map<Rendering, Map<Said, Replaced>>();
  /** Caches the replacements for aliases, because a lexicon may apply an alias many times. */
  const replacementOf = (said: Said, written: string, rendering: Rendering): Replaced => {
    if (said.kind !== 'alias') return toReplacement(said, written, rendering, options);
    const known = aliases.get(rendering) ?? new Map<Said, Replaced>();
    aliases.set(rendering, known);
    if (!known.has(said)) known.set(said, toReplacement(said, written, rendering, options));
    return known.get(said);
  };
  return (text: MarkedText): RenderedItem[] => {
    for (const what of text.ignored) options.ignore(what);
    let offsets: OffsetOf | undefined;
    return joinRuns(text.items, renderingOf).map((item): RenderedItem => {
      if (item.kind === 'pause') return { pauseMs: item.ms };
      const rendering = renderingOf(item.style);
      if (isWhole(item, text.source)) return { run: item, rendering, flat: undefined };
      offsets ??= createOffsets(text.source);
      const resolve = (said: Said, written: string) => replacementOf(said, written, rendering);
      const flat = flatten(item, offsets, resolve);
      if (flat.emphasized.length > 0 && !rendering.capabilities.timings) options.ignore('emphasis');
      return { run: item, rendering, flat };
    });
  };
}

/** Returns an identical rendering from `others`, or else `rendering`. */
function sameAs(rendering: Rendering, others: Iterable<Rendering>): Rendering {
  const keys = ['binding', 'languageCode', 'engineRate', 'tempo', 'gainDb', 'pitch'] as const;
  for (const other of others) if (keys.every((key) => other[key] === rendering[key])) return other;
  return rendering;
}

/**
 * Joins neighbouring runs that are spoken in the same way, unless a sentence ends between them, so that markup without
 * effect does not divide sentences.
 */
function joinRuns(items: readonly MarkedItem[], renderingOf: (style: RunStyle) => Rendering): MarkedItem[] {
  const groups: [MarkedItem, ...MarkedRun[]][] = [];
  for (const item of items) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    const mayGoOn = last?.kind === 'run' && item.kind === 'run' && last.breakAfter === undefined;
    if (mayGoOn && renderingOf(last.style) === renderingOf(item.style)) group!.push(item);
    else groups.push([item]);
  }
  return groups.map(([first, ...others]) => {
    if (first.kind === 'pause' || others.length === 0) return first;
    const runs = [first, ...others];
    const pieces = runs.flatMap((run) => run.pieces);
    const chars = runs.reduce((sum, run) => sum + run.chars, 0);
    return { ...first, pieces, chars, breakAfter: others.at(-1)!.breakAfter };
  });
}

/** Whether the run is a complete text that is spoken as written. */
function isWhole({ pieces: [first, ...others], isLiteral }: MarkedRun, source: string): boolean {
  return !isLiteral && !first!.said && others.length === 0 && first!.from === 0 && first!.to === source.length;
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
  };
}

type Replaced = ReturnType<Resolve>;

function toReplacement(said: Said, written: string, rendering: Rendering, { ignore }: RenderOptions): Replaced {
  const { languageCode, capabilities, spellOut, binding } = rendering;
  const options = { languageCode, spellOut };
  if (said.kind === 'alias') return { say: sayText(said.text, options) };
  if (said.kind === 'say-as') {
    const say = sayAs(said, written, { languageCode, readsNumbers: capabilities.readsNumbers });
    if (say === undefined) ignore('say-as');
    return say === undefined ? undefined : { say };
  }
  const say = sayText(written, options)
    .replace(/[\s,]+/g, ' ')
    .trim();
  const isShort = say !== '' && say.length <= phonemeTextCharsMax;
  const phonemes = isShort ? binding.engine.toPhonemes?.(said.ipa, binding.speaker, languageCode) : undefined;
  if (phonemes === undefined) ignore('phoneme');
  return phonemes === undefined ? undefined : { say, phonemes };
}
