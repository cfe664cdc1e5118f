// Converts clean text for an engine that normalizes by itself: every token stays as it is written.
import type { SpokenToken } from './spoken-token.ts';
import type { Token } from './tokenize.ts';

const edgePattern = /^[\p{P}\p{Z}]+|[\p{P}\p{Z}]+$/gu;

export function readPlain(text: string, tokens: readonly Token[]): SpokenToken[] {
  return tokens.map(({ from, to, glued, breakAfter }) => {
    const say = text.slice(from, to);
    const core = say.replace(edgePattern, '');
    const start = core === '' ? from : from + say.indexOf(core);
    return { say, from: start, to: core === '' ? to : start + core.length, glued, breakAfter };
  });
}
