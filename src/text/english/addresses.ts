// Addresses in English: URLs, domains, e-mail, @handles, #hashtags, v2.0.1. Each symbol in them is read by its name; the
// scheme of a URL is not read.

import { type Place, type Rule, rule, startSource } from '../rule.ts';
import { matchAt, sticky } from '../sticky.ts';
import { wordTable } from '../word-table.ts';
import { sayCardinal } from './numbers.ts';
import { sayNamePart } from './words.ts';

const signNames = wordTable(`
  . dot; / slash; \\ backslash; - dash; _ underscore; : colon; ? question mark; = equals; & and; # hash; % percent
  ~ tilde; + plus; @ at; $ dollar; * star
`);

/** Top-level domains that are spelled; the others are read as words. */
const spelledDomain =
  /^(?:uk|us|de|fr|jp|cn|ca|eu|tv|io|ai|ch|nl|se|fi|dk|ru|br|au|nz|kr|tw|hk|sg|za|mx|ar|pl|pt|cz|gr|ie|il|in|ua|ly|gg|fm|tk|xyz)$/i;

function sayAddress(address: string, place: Place): string {
  const words: string[] = [];
  for (const part of address.match(/[\p{L}\p{M}\d]+|[^\p{L}\p{M}\d]/gu) ?? []) {
    const name = signNames.get(part);
    if (name !== undefined) {
      if (words.at(-1) !== name) words.push(name);
    } else if (/[\p{L}\p{N}]/u.test(part)) {
      if (/^www$/i.test(part)) words.push('W W W');
      else if (spelledDomain.test(part) && words.at(-1) === 'dot') words.push([...part.toUpperCase()].join(' '));
      else words.push(sayNamePart(part, place));
    }
  }
  return words.join(' ');
}

/** Removes punctuation that belongs to the sentence, and a closing bracket that the address did not open. */
function trimAddress(written: string): string {
  let end = written.length;
  for (; end > 0; end--) {
    const last = written[end - 1]!;
    const unopened = last === ')' && !written.slice(0, end).includes('(');
    if (!unopened && !/[.,;:!?'"\]}*_]/.test(last)) break;
  }
  return written.slice(0, end);
}

function addressRule(source: string, strip = /^$/): Rule {
  const pattern = sticky(String.raw`(?<![\p{L}\d@._-])${source}`);
  return (place) => {
    const written = trimAddress(matchAt(pattern, place.text, place.at)?.[0] ?? '');
    const say = sayAddress(written.replace(strip, ''), place);
    return say === '' ? undefined : { say, length: written.length };
  };
}

const topDomains =
  'com|org|net|edu|gov|mil|int|io|ai|app|dev|info|biz|co|uk|us|de|fr|jp|cn|ca|eu|tv|ch|nl|se|ru|br|au|nz|kr|xyz|tech|online|site|cloud|ly|gg|fm|example|test';

const urlRule = addressRule(
  String.raw`(?i:(?:https?|ftps?|wss?|file|ssh|git|s3|redis|postgres(?:ql)?):\/\/|www\.)[^\s<>"]{1,2000}`,
  /^[a-z0-9]+:\/+/i,
);
const mailRule = addressRule(
  String.raw`(?:mailto:)?[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\p{L}\d@])`,
  /^mailto:/,
);
const domainRule = addressRule(
  String.raw`(?:[A-Za-z0-9-]{1,63}\.){1,8}(?:${topDomains})(?![\p{L}\d-]|\.[\p{L}\d])(?:[/?#:](?=[\w~%.])[^\s<>",;]{1,2000}|/)?`,
);

export const addressRules: readonly Rule[] = [urlRule, mailRule, domainRule];

/** Separates the words of a tag or handle, which begin with capitals. */
const splitWords = (name: string): string =>
  name
    .replace(/([\p{Ll}\d])(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1$2 ')
    .replace(/(\p{L})(?=\d)|(\d)(?=\p{L})/gu, '$1$2 ');

const sayName = (name: string, place: Place): string =>
  splitWords(name)
    .split(/(_|-|\.)|\s+/)
    .filter((part) => part)
    .map((part) => signNames.get(part) ?? sayNamePart(part, place))
    .join(' ');

export const handleRule: Rule = rule(
  String.raw`${startSource}@([\p{L}\d_]{1,64}(?:[.-][\p{L}\d_]{1,64}){0,4})`,
  ([, name], place) => `at ${sayName(name!, place)}`,
);

export const hashtagRule: Rule = rule(
  String.raw`${startSource}#(?=[\d_]*\p{L})([\p{L}\p{M}\d_]{1,140})`,
  ([, name], place) =>
    `${/^[A-Z]{1,3}\d/.test(name!) ? 'number' : 'hashtag'} ${sayName(name!.replaceAll('_', ' '), place)}`,
);

export const versionRule: Rule = rule(
  String.raw`${startSource}[vV](?:er(?:sion)?)?\.? ?(\d{1,6}(?:\.\d{1,6}){0,6})(?![\d%]|\p{Ll}{2})`,
  ([written, number]) =>
    /^[vV]\.? /.test(written) ? undefined : `version ${number!.split('.').map(sayCardinal).join(' point ')}`,
);
