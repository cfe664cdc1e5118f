// The one order of voices, in every list: the default voice first, then natural voices before synthetic ones, then by name
// and, of the same name, by id. A voice has a position, a string; positions are ordered by their UTF-16 code units.
//     0: default, 1: natural, 2: synthetic | the name, folded | NUL | the id
import type { Voice } from '../engines/engine.ts';

export type VoiceRank = 'default' | 'natural' | 'synthetic';

const digits: Readonly<Record<VoiceRank, string>> = { default: '0', natural: '1', synthetic: '2' };
/** Of the folded name; page tokens hold positions. */
const nameCharsMax = 100;
/** Numbers are ordered by value up to this length. */
const numberDigits = 6;

export const positionOf = ({ name, voiceId }: Pick<Voice, 'name' | 'voiceId'>, rank: VoiceRank): string =>
  `${digits[rank]}${foldName(name)}\0${voiceId}`;

/** Without case and diacritics, and with numbers of equal length. */
const foldName = (name: string): string =>
  name
    .slice(0, 2 * nameCharsMax)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/\d+/g, (number) => number.padStart(numberDigits, '0'))
    .slice(0, nameCharsMax)
    .toWellFormed();
