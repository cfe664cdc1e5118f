// Converts IPA to flite's phones: those of American English (Arpabet), with the stress mark after the vowel: təˈmɑːtoʊ
// becomes "t ax m aa1 t ow". Sounds that English lacks cannot be converted.

import { withoutModifiers } from '../../platform/ipa.ts';
import { toRows } from '../../platform/keyed-rows.ts';

/** Longer spellings come first, so that a diphthong is not read as two vowels. */
const phones = toRows(`
  ɜːr = er; ɜr = er; ɝː = er; ɝ = er; ɚ = er; ɜː = er; ɜ = er; ər = er; eɪ = ey; ei = ey; aɪ = ay; ai = ay; ɔɪ = oy
  oɪ = oy; aʊ = aw; au = aw; oʊ = ow; əʊ = ow; ou = ow; iː = iy; i = iy; ɪ = ih; ᵻ = ih; ɨ = ih; ɛː = eh; ɛ = eh
  e = eh; eː = ey; æ = ae; ɑː = aa; ɑ = aa; aː = aa; a = aa; ɒ = aa; ɔː = ao; ɔ = ao; oː = ow; o = ow; ʊ = uh; uː = uw
  u = uw; ʉ = uw; ʉː = uw; ʌ = ah; ɐ = ah; ə = ax; l̩ = ax l; n̩ = ax n; m̩ = ax m; tʃ = ch; dʒ = jh; ʍ = hh w; p = p
  b = b; t = t; d = d; ɾ = d; k = k; ɡ = g; f = f; v = v; θ = th; ð = dh; s = s; z = z; ʃ = sh; ʒ = zh; h = hh; m = m
  n = n; ŋ = ng; l = l; ɫ = l; ɹ = r; r = r; j = y; w = w
`).sort(([a], [b]) => b.length - a.length);
const vowelPattern = /^[aeiou]/;
/** Marks that are dropped: syllable separators, secondary stress and length. */
const silentPattern = /[ .ˌː]/;
const sounds = new Set(phones.map(([ipa]) => ipa));

/** Converts IPA; undefined if flite lacks one of the sounds. */
export function toFlitePhones(written: string): string | undefined {
  const ipa = withoutModifiers(written, (sound) => sounds.has(sound));
  const found: string[] = [];
  let isStressed = false;
  for (let at = 0; at < ipa.length; ) {
    const char = ipa[at]!;
    const match = phones.find(([written]) => ipa.startsWith(written, at));
    if (match) {
      for (const phone of match[1].split(' ')) {
        const takesStress = isStressed && vowelPattern.test(phone);
        if (takesStress) isStressed = false;
        found.push(takesStress ? `${phone}1` : phone);
      }
      at += match[0].length;
    } else {
      if (char === 'ˈ') isStressed = true;
      else if (!silentPattern.test(char)) return undefined;
      at++;
    }
  }
  if (found.some((phone) => phone.endsWith('1'))) return found.join(' ');
  // In a word without a stress mark, the first vowel is stressed.
  const first = found.findIndex((phone) => vowelPattern.test(phone));
  return first < 0 ? undefined : found.with(first, `${found[first]}1`).join(' ');
}

/** The phones as flite reports them after speaking. */
export const toPhoneNames = (phones: string): string[] => phones.split(' ').map((phone) => phone.replace(/\d$/, ''));
