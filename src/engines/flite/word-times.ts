// Assigns phones to words. flite reports when each phone of an utterance ends ("pau:0.164 hh:0.255 ax:0.304 ..."), but
// not to which word the phone belongs. So the reported phones are aligned with the phones of the words spoken alone, at
// the least cost of changed, dropped and added phones. The alignment also decides which word with an end mark ends the
// utterance.
import type { WordTime } from '../engine.ts';
import type { SpokenToken } from './flite-text.ts';

interface Phone {
  name: string;
  startSeconds: number;
  endSeconds: number;
}

/** A spoken range of text, and its phones when spoken alone. */
export interface ExpectedWord extends Omit<SpokenToken, 'phones'> {
  phones: readonly string[];
}

const silence = 'pau';
/** flite ends utterances only at these marks. */
const utteranceEnd = /[.:?!]['")]*$/;
const gapCost = 1;
const changeCost = 0.9;

/** Parses the phones in a line of `-psdur`, without pauses. */
export function parsePhones(line: string): Phone[] {
  let startSeconds = 0;
  return line
    .split(' ')
    .map((entry) => {
      const colon = entry.lastIndexOf(':');
      const phone = { name: entry.slice(0, colon), startSeconds, endSeconds: Number(entry.slice(colon + 1)) };
      startSeconds = phone.endSeconds;
      return phone;
    })
    .filter(({ name }) => name !== silence);
}

/** Word times in an utterance, which contains the first words of `words`. */
export function timeWords(words: readonly ExpectedWord[], heard: readonly Phone[]): WordTime[] {
  if (words.length === 0 || heard.length === 0) return [];
  const expected = words.flatMap(({ phones }, word) => phones.map((name) => ({ name, word })));
  const costs = alignmentCosts(expected, heard);
  const count = wordCountOf(words, costs, heard.length);
  const ends = phoneEnds(expected, costs, heard, words.slice(0, count));
  return toTimes(words.slice(0, count), ends, heard);
}

interface ExpectedPhone {
  name: string;
  word: number;
}

/** costs[i][j]: least cost of aligning the first j reported phones with the first i expected ones. */
function alignmentCosts(expected: readonly ExpectedPhone[], heard: readonly Phone[]): number[][] {
  const costs = [heard.map((_, j) => j * gapCost).concat(heard.length * gapCost)];
  for (const [i, { name }] of expected.entries()) {
    const above = costs[i]!;
    const row = [(i + 1) * gapCost];
    for (const [j, phone] of heard.entries()) {
      const change = above[j]! + (phone.name === name ? 0 : changeCost);
      row.push(Math.min(change, above[j + 1]! + gapCost, row[j]! + gapCost));
    }
    costs.push(row);
  }
  return costs;
}

function wordCountOf(words: readonly ExpectedWord[], costs: readonly number[][], heardCount: number): number {
  let phoneCount = 0;
  let best = { count: words.length, cost: Number.POSITIVE_INFINITY };
  for (const [index, { spoken, phones }] of words.entries()) {
    phoneCount += phones.length;
    const mayEnd = index === words.length - 1 || utteranceEnd.test(spoken);
    const cost = costs[phoneCount]![heardCount]!;
    if (mayEnd && cost < best.cost) best = { count: index + 1, cost };
  }
  return best.count;
}

/** The number of reported phones before the end of each word. */
function phoneEnds(
  expected: readonly ExpectedPhone[],
  costs: readonly number[][],
  heard: readonly Phone[],
  words: readonly ExpectedWord[],
): number[] {
  const ends: number[] = Array(words.length).fill(0);
  let i = words.reduce((sum, { phones }) => sum + phones.length, 0);
  let j = heard.length;
  // Phones before the first expected phone belong to the first word, and phones after the last one to the last word.
  ends[words.length - 1] = j;
  while (i > 0 && j > 0) {
    const { name, word } = expected[i - 1]!;
    ends[word] = Math.max(ends[word]!, j);
    const change = costs[i - 1]![j - 1]! + (heard[j - 1]!.name === name ? 0 : changeCost);
    if (costs[i]![j] === change) {
      i--;
      j--;
    } else if (costs[i]![j] === costs[i - 1]![j]! + gapCost) i--;
    else j--;
  }
  return ends;
}

/** A word without phones shares the time of the previous word, or of the next word if there is no previous one. */
function toTimes(words: readonly ExpectedWord[], ends: readonly number[], heard: readonly Phone[]): WordTime[] {
  const times: WordTime[] = [];
  let heardFrom = 0;
  while (times.length < words.length) {
    let last = times.length;
    while (ends[last]! <= heardFrom) last++;
    while (ends[last + 1] === ends[last]) last++;
    const sharing = words.slice(times.length, last + 1);
    const start = heard[heardFrom]!.startSeconds;
    const share = (heard[ends[last]! - 1]!.endSeconds - start) / sharing.length;
    for (const [n, { from, to }] of sharing.entries()) {
      times.push({ from, to, startSeconds: start + n * share, endSeconds: start + (n + 1) * share });
    }
    heardFrom = ends[last]!;
  }
  return times;
}
