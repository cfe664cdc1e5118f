// Google's stock voices as Sonant's. Their names tell what they are,
//     en-US-Chirp3-HD-Charon   language, kind, speaker
// and are their ids here. Voices of other names need a model besides, and are not offered; neither are kinds that take no
// speaking rate.
import type { Voice } from '../engine.ts';

/** As ListVoices returns it. */
export interface ListedVoice {
  name: string;
  languageCodes: readonly string[];
  gender: string;
}

const streamingKind = 'Chirp3-HD';
const ratelessKinds = /^(Chirp-HD|Journey)$/;
const voicesMax = 10_000;

interface NameParts {
  languageCode: string;
  kind: string;
  speaker: string;
}

function parseName(name: string): NameParts | undefined {
  const [, languageCode, kind, speaker] =
    /^([a-z]{2,3}-[A-Za-z0-9]{2,4})-([\x21-\x7e]+)-([A-Za-z0-9]+)$/.exec(name) ?? [];
  return languageCode && kind && speaker ? { languageCode, kind, speaker } : undefined;
}

/** Whether Google streams the sound as it is made. */
export const isStreaming = ({ voiceId }: Voice): boolean => parseName(voiceId)?.kind === streamingKind;

/** The language of a stock voice in Google's code, which requests must repeat. */
export const languageOf = ({ voiceId }: Voice): string => parseName(voiceId)!.languageCode;

/** The voices whose names are, or begin with, one of `wanted`; all that stream where `wanted` is empty. */
export function toVoices(listed: readonly ListedVoice[], wanted: readonly string[], engine: string): Voice[] {
  const voices = new Map<string, Voice>();
  for (const { name, languageCodes, gender } of listed.slice(0, voicesMax)) {
    const parts = parseName(name);
    if (!parts || name.length > 128 || ratelessKinds.test(parts.kind)) continue;
    const isWanted =
      wanted.length === 0 ? parts.kind === streamingKind : wanted.some((start) => `${name}-`.startsWith(`${start}-`));
    const codes = canonical([parts.languageCode, ...languageCodes]);
    if (!isWanted || codes.length === 0) continue;
    const { kind, speaker } = parts;
    voices.set(name, {
      voiceId: name,
      name: kind === streamingKind ? speaker : `${kind} ${speaker}`,
      description: `Google’s voice ${speaker} of the kind ${kind}.`,
      kind: 'stock',
      engine,
      languageCodes: codes,
      labels: { kind, ...(/^(MALE|FEMALE|NEUTRAL)$/.test(gender) && { gender: gender.toLowerCase() }) },
      version: kind,
      gainDb: 0,
    });
  }
  return [...voices.values()];
}

/** Each once, and none that is no language at all. */
function canonical(codes: readonly string[]): string[] {
  const known = codes.flatMap((code) => {
    try {
      return Intl.getCanonicalLocales(code);
    } catch {
      return [];
    }
  });
  return [...new Set(known)];
}
