// Prepares text for a model. A model silently drops characters that it has no token for, and its process may exit if
// nothing is left. So such characters are replaced by others that the model has, and text is refused if a word cannot
// be written with them.
import { readFile } from 'node:fs/promises';
import anyAscii from 'any-ascii';
import { Failure } from '../../errors.ts';
import type { Model } from './model.ts';

const anyWord = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’]*/gu;
/** Cache of lexicons. */
const lexicons = new WeakMap<Model, Promise<ReadonlySet<string>>>();

/** The text for the model; empty if there is nothing to say. */
export async function toModelText(text: string, model: Model): Promise<string> {
  const plain = text
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\s\ufffd]+/gu, ' ')
    .trim();
  if (!/[\p{L}\p{N}]/u.test(plain)) return '';
  const { reading } = model;
  if (reading.by === 'characters') return toCharacters(plain, reading.tokens);
  if (reading.by === 'codes') return toCodes(plain, reading.has);
  if (reading.by === 'lexicon') return toWords(plain, await lexiconOf(model, reading.path));
  return plain;
}

const ownWordsMax = 12;
const lettersMax = 40;

/** Words that the model can speak: words in its lexicon, groups of its letters, or numbers (which eSpeak NG reads). */
export async function ownWords(model: Model): Promise<string> {
  const { reading } = model;
  if (reading.by === 'phonemes' || reading.by === 'codes') return '1, 2, 3, 4, 5, 6, 7, 8, 9, 10.';
  if (reading.by === 'characters') {
    const letters = [...reading.tokens].filter((token) => /^[\p{L}\p{N}]$/u.test(token)).slice(0, lettersMax);
    return letters.join('').replace(/(.{4})/gu, '$1 ');
  }
  const words = [...(await lexiconOf(model, reading.path))].filter((word) => /^\p{L}{3,}$/u.test(word));
  return words.slice(0, ownWordsMax).join(' ');
}

const cannotSay = (word: string) => new Failure('engine_error', {}, new Error(`the model has no token for "${word}"`));

function toCharacters(text: string, tokens: ReadonlySet<string>): string {
  const small = text.toLowerCase();
  const write = (character: string): string =>
    [...(tokens.has(character) ? character : anyAscii(character).toLowerCase())]
      .filter((each) => tokens.has(each))
      .join('');
  for (const [word] of small.matchAll(anyWord)) if (![...word].some(write)) throw cannotSay(word);
  const gap = tokens.has(' ') ? ' ' : '';
  const said = Array.from(small, (character) => write(character) || (/[\p{L}\p{N}\s]/u.test(character) ? gap : ''));
  return withWholeSentences(said.join(''));
}

/**
 * Keeps a character if the model has all of its parts. The model's language marks such as <en> are never taken from the
 * text.
 */
function toCodes(text: string, hasCode: (codeUnit: number) => boolean): string {
  const has = (character: string) => {
    const decomposed = character.normalize('NFKD');
    return Array.from({ length: decomposed.length }, (_, i) => decomposed.charCodeAt(i)).every(hasCode);
  };
  const write = (character: string): string =>
    has(character)
      ? character
      : Array.from(anyAscii(character))
          .filter((each) => has(each))
          .join('');
  const safe = text.replace(/[<>]/g, ' ');
  for (const [word] of safe.matchAll(anyWord)) if (![...word].some(write)) throw cannotSay(word);
  return Array.from(safe, write).join('');
}

/**
 * Ensures that every sentence has a word and that the last sentence has more than one token. The library would skip
 * shorter sentences.
 */
function withWholeSentences(text: string): string {
  const whole = text.replace(/([.:?!,;])(?:\s*[.:?!,;])+/g, '$1').replace(/^[\s.:?!,;]+/, '');
  const rest = whole.slice(whole.search(/[^.:?!]*$/));
  return [...rest].length === 1 ? `${whole} ` : whole;
}

function toWords(text: string, words: ReadonlySet<string>): string {
  return text.toLowerCase().replace(anyWord, (word) => {
    if (words.has(word)) return word;
    const plain = anyAscii(word).toLowerCase();
    if (words.has(plain)) return plain;
    const letters = [...plain].filter((letter) => /[a-z0-9]/.test(letter));
    if (letters.length === 0 || !letters.every((letter) => words.has(letter))) throw cannotSay(word);
    return letters.join(' ');
  });
}

/** The words of a lexicon: the first word of each line. */
function lexiconOf(model: Model, path: string): Promise<ReadonlySet<string>> {
  const known = lexicons.get(model);
  if (known) return known;
  const reading = readFile(path, 'utf8').then(
    (text) => new Set(text.split('\n').map((line) => line.trimStart().split(/\s/, 1)[0]!.toLowerCase())),
    (error: unknown) => {
      lexicons.delete(model);
      throw new Failure('engine_unavailable', {}, error);
    },
  );
  lexicons.set(model, reading);
  return reading;
}
