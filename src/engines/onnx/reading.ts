// How the phonemes of a voice are made from text. The files of the voice decide it, never what else is installed.
import { withoutModifiers } from '../../platform/ipa.ts';
import { type Accent, accentOf, toKokoroLetters } from './kokoro-letters.ts';

export type Reading =
  /** Sonant's phonemes of English, written in the letters of Kokoro or in Piper's IPA. */
  | { by: 'english'; accent: Accent; notation: 'kokoro' | 'piper' }
  /** The phonemes of eSpeak NG, in IPA or in the letters of Kokoro. */
  | { by: 'espeak'; voice: string; notation?: 'kokoro' }
  /** The letters of the text. */
  | { by: 'letters' };

/** The reading of a voice whose card states none. */
export const usualReading = (languageCode: string): Reading => ({
  by: 'english',
  accent: accentOf(languageCode),
  notation: 'kokoro',
});

/** Converts IPA to what the reading takes for given phonemes; undefined if it cannot be pronounced. */
export function toGivenPhonemes(ipa: string, reading: Reading): string | undefined {
  if (reading.by === 'english') return toKokoroLetters(ipa, reading.accent);
  return reading.by === 'espeak'
    ? withoutModifiers(ipa, () => false)
        .replaceAll('.', '')
        .normalize('NFD')
    : undefined;
}
