// Prepares text for a model. A model silently drops characters that it has no token for, and its process may exit if
// nothing is left. So such characters are replaced by others that the model has, and text is refused if a word cannot
// be written with them.
import anyAscii from 'any-ascii';
import { Failure } from '../../platform/errors.ts';
import type { ModelFacts } from './model.ts';

const anyWord = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’]*/gu;

/** The text for the model; empty if there is nothing to say. */
export function toModelText(text: string, { hasCode }: Pick<ModelFacts, 'hasCode'>): string {
  const plain = text
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\s\ufffd]+/gu, ' ')
    .trim();
  if (!/[\p{L}\p{N}]/u.test(plain)) return '';
  return hasCode ? toCodes(plain, hasCode) : plain;
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
  for (const [word] of safe.matchAll(anyWord)) {
    if (![...word].some(write))
      throw new Failure('engine_error', {}, new Error(`the model has no token for "${word}"`));
  }
  return Array.from(safe, write).join('');
}
