// Speaks URLs, domains and e-mail addresses. Signs are spoken by name, and a URL's scheme is skipped. Text between
// signs is spoken as words. One or two digits are spoken as a number, longer numbers digit by digit.
import { toRows } from '../platform/keyed-rows.ts';
import { symbols } from './language-table.ts';
import { matchAt, type Rule, sticky, wordSet } from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';

const schemePattern = /^[a-z0-9]+:\/+|^mailto:/i;
/** What may be an address; most words are not. */
const possiblePattern = sticky(String.raw`[^\s.:@]{1,64}[.:@](?=\S)`);
const extensions = `${symbols.extensions} ${symbols.spelled_extensions}`.replaceAll(' ', '|');

const startSource = String.raw`(?<![\p{L}\d@._-])`;
const urlSource = String.raw`(?i:(?:https?|ftps?|wss?|file|ssh|git|s3|redis|postgres(?:ql)?):\/\/|www\.)[^\s<>"]{1,2000}`;
const mailSource = String.raw`(?:mailto:)?[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\p{L}\d@])`;
const domainSource = (domains: string): string =>
  String.raw`(?:[A-Za-z0-9-]{1,63}\.){1,8}(?:${domains})(?![\p{L}\d-]|\.[\p{L}\d])(?:[/?#:](?=[\w~%.])[^\s<>",;]{1,2000}|/)?`;

const fileSource = String.raw`(?:[\w-]{1,63}\.){1,4}(?i:${extensions})(?![\p{L}\d-]|\.[\p{L}\d])`;

/** Removes the sentence's punctuation, and a closing bracket whose opening bracket is not in the address. */
function trimAddress(written: string): string {
  let end = written.length;
  for (; end > 0; end--) {
    const last = written[end - 1]!;
    const unopened = last === ')' && !written.slice(0, end).includes('(');
    if (!unopened && !/[.,;:!?'"\]}*_]/.test(last)) break;
  }
  return written.slice(0, end);
}

/** Speaks a part of an address or file name; the part has no signs. */
export function sayNamePart(part: string, v: Verbalizer, sayWord: (word: string) => string): string {
  const plain = part.replace(/[^\P{N}\d]/gu, (number) => number.normalize('NFKC'));
  const said = plain.match(/\d+|[\p{L}\p{M}]+/gu)?.map((run) => {
    if (!/\d/.test(run)) return sayWord(run);
    return run.length <= 2 && !run.startsWith('0') ? v.number(run) : v.digits(run);
  });
  return said?.join(' ') ?? '';
}

export function addressRuleFor(v: Verbalizer, sayWord: (word: string) => string): Rule {
  const { address, domains = symbols.domains, spelled_domains = '' } = v.table.signs;
  const names = new Map(toRows(address));
  const spelled = wordSet(v.table.rules ? spelled_domains : `${spelled_domains} ${symbols.spelled_extensions}`);
  const say = (written: string): string => {
    const words: string[] = [];
    for (const part of written.match(/[\p{L}\p{M}\d]+|[^\p{L}\p{M}\d]/gu) ?? []) {
      const name = names.get(part);
      if (name !== undefined) {
        if (words.at(-1) !== name) words.push(name);
      } else if (/[\p{L}\p{N}]/u.test(part)) {
        if (/^www$/i.test(part)) words.push('W W W');
        else if (spelled.has(part.toLowerCase()) && words.at(-1) === names.get('.'))
          words.push([...part.toUpperCase()].join(' '));
        else words.push(sayNamePart(part, v, sayWord));
      }
    }
    return words.join(' ');
  };
  const sources = [urlSource, mailSource, domainSource(domains.trim().split(/\s+/).join('|'))];
  // A table with rules has its own for file names.
  if (!v.table.rules) sources.push(fileSource);
  const patterns = sources.map((source) => sticky(`${startSource}${source}`));
  return (place) => {
    if (!matchAt(possiblePattern, place.text, place.at)) return undefined;
    const found = patterns.map((pattern) => trimAddress(matchAt(pattern, place.text, place.at)?.[0] ?? ''));
    const written = found.find((address) => address !== '') ?? '';
    const said = say(written.replace(schemePattern, ''));
    return said === '' ? undefined : { say: said, length: written.length };
  };
}
