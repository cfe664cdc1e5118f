// The languages of a blend: those of its first part that all of the others speak too. A code covers what begins with it:
// of a speaker of "en-US" and "en" and one of "en-GB" and "en", the blend speaks "en-US" and "en".
import type { Voice } from './engine.ts';

export function languagesOfBlend([first, ...others]: readonly Pick<Voice, 'languageCodes'>[]): readonly string[] {
  const isCovered = (code: string) => (range: string) => code === range || code.startsWith(`${range}-`);
  return first?.languageCodes.filter((code) => others.every((each) => each.languageCodes.some(isCovered(code)))) ?? [];
}
