// Converts IPA to flite's phones: those of American English (Arpabet), with the stress mark after the vowel: təˈmɑːtoʊ
// becomes "t ax m aa1 t ow". Sounds that English lacks cannot be converted.

import { splitIpa } from '../../platform/ipa.ts';
import { toRows } from '../../platform/keyed-rows.ts';

const phonesOf = new Map(
  toRows(`
    ɜːr = er; ɜr = er; ɝː = er; ɝ = er; ɚ = er; ɜː = er; ɜ = er; ər = er; eɪ = ey; ei = ey; aɪ = ay; ai = ay; ɔɪ = oy
    oɪ = oy; aʊ = aw; au = aw; oʊ = ow; əʊ = ow; ou = ow; iː = iy; i = iy; ɪ = ih; ᵻ = ih; ɨ = ih; ɛː = eh; ɛ = eh
    e = eh; eː = ey; æ = ae; ɑː = aa; ɑ = aa; aː = aa; a = aa; ɒ = aa; ɔː = ao; ɔ = ao; oː = ow; o = ow; ʊ = uh; uː = uw
    u = uw; ʉ = uw; ʉː = uw; ʌ = ah; ɐ = ah; ə = ax; l̩ = ax l; n̩ = ax n; m̩ = ax m; tʃ = ch; dʒ = jh; ʍ = hh w; p = p
    b = b; t = t; d = d; ɾ = d; k = k; ɡ = g; f = f; v = v; θ = th; ð = dh; s = s; z = z; ʃ = sh; ʒ = zh; h = hh; m = m
    n = n; ŋ = ng; l = l; ɫ = l; ɹ = r; r = r; j = y; w = w
  `),
);
const vowelPattern = /^[aeiou]/;
/** Marks that are dropped: syllable separators, secondary stress and length. */
const silentPattern = /[ .ˌː]/;

/** Converts IPA; undefined if flite lacks one of the sounds. */
export function toFlitePhones(written: string): string | undefined {
  const found: string[] = [];
  let isStressed = false;
  for (const [sound, phones] of splitIpa(written, phonesOf)) {
    if (sound === 'ˈ') isStressed = true;
    else if (phones === undefined && !silentPattern.test(sound)) return undefined;
    for (const phone of phones?.split(' ') ?? []) {
      const takesStress = isStressed && vowelPattern.test(phone);
      if (takesStress) isStressed = false;
      found.push(takesStress ? `${phone}1` : phone);
    }
  }
  if (found.some((phone) => phone.endsWith('1'))) return found.join(' ');
  // In a word without a stress mark, the first vowel is stressed.
  const first = found.findIndex((phone) => vowelPattern.test(phone));
  return first < 0 ? undefined : found.with(first, `${found[first]}1`).join(' ');
}

/** The phones as flite reports them after speaking. */
export const toPhoneNames = (phones: string): string[] => phones.split(' ').map((phone) => phone.replace(/\d$/, ''));
