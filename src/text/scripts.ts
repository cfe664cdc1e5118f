// Detects the scripts of a text, and whether they fit its language. Letters are counted by Unicode's Script property.
// Digits, symbols and punctuation belong to every script. Latin is never foreign, because every engine can read it.

import { toRows } from '../platform/keyed-rows.ts';
import { symbols } from './language-table.ts';

interface ScriptReport {
  /** Whether the text has a letter or a digit. */
  speakable: boolean;
  /** English names of the scripts in the text that the language does not use, most frequent first. */
  foreign: readonly string[];
  /** Whether most letters are in foreign scripts. */
  mostlyForeign: boolean;
}

/** ISO 15924 codes and Unicode's names, roughly in order of use. */
const scripts = new Map(toRows(symbols.scripts));
const codes = [...scripts.keys()];
const names = [...scripts.values()];

/** Script codes that stand for several scripts. */
const compoundScripts = new Map(toRows(symbols.compound_scripts));

const patterns = names.map((name) => new RegExp(`\\p{Script=${name}}`, 'u'));
const letterPattern = /\p{L}/u;
const speakablePattern = /[\p{L}\p{N}]/u;
const neutralPattern = /[\p{Script=Common}\p{Script=Inherited}]/u;

/**
 * Indices of two further classes: letters of other scripts, and characters that are not letters or belong to every
 * script.
 */
const other = codes.length;
const none = other + 1;

/** Counts the letters of `text` by script. The scripts of the given languages are not foreign. */
export function inspectScripts(text: string, ...languageCodes: readonly string[]): ScriptReport {
  const { counts, letters } = countScripts(text);
  const own = new Set(languageCodes.flatMap((code) => [...scriptsOf(code)]));
  const foreign = [...counts.keys()]
    .filter((script) => script !== none && counts[script]! > 0 && !own.has(codes[script]!))
    .sort((a, b) => counts[b]! - counts[a]!);
  return {
    speakable: letters > 0 || speakablePattern.test(text),
    foreign: foreign.map((script) => names[script]?.replaceAll('_', ' ') ?? 'Other'),
    mostlyForeign: lettersOf(foreign, counts) * 2 > letters,
  };
}

/** For each language, whether the text is mostly in the scripts of the language. */
export function fitScripts(text: string, languageCodes: readonly string[]): boolean[] {
  const { counts, letters } = countScripts(text);
  const used = [...counts.keys()].filter((script) => script !== none && counts[script]! > 0);
  return languageCodes.map((languageCode) => {
    const own = scriptsOf(languageCode);
    const foreign = used.filter((script) => !own.has(codes[script]!));
    return lettersOf(foreign, counts) * 2 <= letters;
  });
}

const lettersOf = (of: readonly number[], counts: Uint32Array): number =>
  of.reduce((sum, script) => sum + counts[script]!, 0);

function countScripts(text: string): { counts: Uint32Array; letters: number } {
  const counts = new Uint32Array(none + 1);
  let letters = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i)!;
    if (code > 0xffff) i++;
    const script = scriptOf(code);
    counts[script]!++;
    if (script !== none) letters++;
  }
  return { counts, letters };
}

/** Script number of each character of the basic plane, plus one; 0 while the script is unknown. */
const known = new Uint8Array(0x10000);

function scriptOf(codePoint: number): number {
  if (codePoint > 0xffff) return findScript(codePoint);
  const script = known[codePoint]!;
  if (script > 0) return script - 1;
  const found = findScript(codePoint);
  known[codePoint] = found + 1;
  return found;
}

function findScript(codePoint: number): number {
  const char = String.fromCodePoint(codePoint);
  if (!letterPattern.test(char) || neutralPattern.test(char)) return none;
  const script = patterns.findIndex((pattern) => pattern.test(char));
  return script < 0 ? other : script;
}

/** Caches scripts by language, because finding them takes longer than counting the letters of a sentence. */
const knownScripts = new Map<string, ReadonlySet<string>>();
const knownScriptsMax = 256;

function scriptsOf(languageCode: string): ReadonlySet<string> {
  const known = knownScripts.get(languageCode);
  if (known) return known;
  const code = new Intl.Locale(languageCode).maximize().script ?? 'Latn';
  const found = new Set(['Latn', ...(compoundScripts.get(code) ?? code).split(' ')]);
  if (knownScripts.size === knownScriptsMax) knownScripts.clear();
  knownScripts.set(languageCode, found);
  return found;
}
