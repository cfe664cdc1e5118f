// The tokens of a model, tokens.txt: what its text is made of, and the number of each.
//     _ 0
//     a 14        a token, white space, its number
//     3           a number alone is that of the space
// The library exits at a line of another form, and at a token that occurs twice where each is one character.
import { readFile, stat } from 'node:fs/promises';
import { ModelFault } from './model-fault.ts';

export interface TokenRules {
  /** Whether every token must be one character, but for `others`. */
  areCharacters: boolean;
  others?: readonly string[];
}

const fileBytesMax = 16_777_216;

export async function readTokensFile(
  path: string,
  { areCharacters, others = [] }: TokenRules,
): Promise<Map<string, number>> {
  const { size } = await stat(path);
  if (size > fileBytesMax) throw new ModelFault(`is larger than ${fileBytesMax} bytes`);
  const lines = (await readFile(path, 'utf8')).split('\n');
  if (lines.at(-1)?.trim() === '') lines.pop();
  const tokens = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    const at = `line ${index + 1}`;
    const parts = line.split(/[ \t\r\v\f]+/).filter((part) => part !== '');
    const [token, number] = parts.length === 1 ? [' ', parts[0]!] : parts;
    if (parts.length < 1 || parts.length > 2 || !/^\d{1,9}$/.test(number!)) {
      throw new ModelFault(`must have a token and its number in each line; ${at} has not`);
    }
    if (areCharacters && [...token!].length !== 1) {
      if (others.includes(token!)) continue;
      throw new ModelFault(`must have tokens of one character; ${at} has another`);
    }
    if (areCharacters && tokens.has(token!)) throw new ModelFault(`has a token twice, the second time in ${at}`);
    if (!tokens.has(token!)) tokens.set(token!, Number(number));
  }
  if (tokens.size === 0) throw new ModelFault('is empty');
  return tokens;
}
