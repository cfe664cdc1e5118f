// Reads clean text for an engine that reads numbers and signs itself: every token as it is written.
import type { Piece } from './piece.ts';
import type { Token } from './tokens.ts';

const edgePattern = /^[\p{P}\p{Z}]+|[\p{P}\p{Z}]+$/gu;

export function readPlain(text: string, tokens: readonly Token[]): Piece[] {
  return tokens.map(({ from, to, glued, breath }) => {
    const say = text.slice(from, to);
    const core = say.replace(edgePattern, '');
    const start = core === '' ? from : from + say.indexOf(core);
    return { say, from: start, to: core === '' ? to : start + core.length, glued, breath };
  });
}
