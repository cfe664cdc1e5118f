// Pauses in plain text: `[pause:1.5s]` or `[pause:300ms]`, without white space. Everything else is plain text.
import { type MarkedText, MarkedTextBuilder, MarkupFault, plainStyle } from './marked-text.ts';

/** Maximum length of a single pause, and of all pauses of one text. */
const pauseMsMax = 20_000;
export const pausesMsMax = 600_000;

const tagPattern = /\[pause:(\d{1,9}(?:\.\d{1,9})?)(ms|s)\]/gi;

/** Reads pause tags. Throws a MarkupFault if a pause is too long. */
export function readPauseTags(source: string): MarkedText {
  const builder = new MarkedTextBuilder(source, { isLiteral: false });
  builder.setStyle(plainStyle);
  const addText = (from: number, to: number) => {
    if (to > from) builder.add({ text: source.slice(from, to), from, to });
  };
  const addPause = createPauses(source, (ms) => builder.pause(ms));
  let end = 0;
  for (const { 0: tag, 1: number, 2: unit, index } of source.matchAll(tagPattern)) {
    addText(end, index);
    addPause(Number(number) * (unit!.toLowerCase() === 's' ? 1000 : 1), index);
    end = index + tag.length;
  }
  addText(end, source.length);
  return builder.build([]);
}

/** Returns a function that adds the pauses of a text, and checks their limits. */
export function createPauses(source: string, add: (ms: number) => void): (ms: number, at: number) => void {
  let sumMs = 0;
  return (ms, at) => {
    sumMs += ms;
    if (ms > pauseMsMax) throw new MarkupFault(source, at, `a pause can last at most ${pauseMsMax / 1000} s`);
    if (sumMs > pausesMsMax)
      throw new MarkupFault(source, at, `the pauses of a text can last at most ${pausesMsMax / 1000} s in total`);
    add(ms);
  };
}
