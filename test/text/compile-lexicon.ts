// Compiles the entries of a lexicon at once, as commands do.
import { atOnce } from '../../src/platform/runtime/steps.ts';
import { Lexicon, type LexiconEntry } from '../../src/text/lexicon.ts';

export const compileLexicon = (entries: readonly LexiconEntry[]): Lexicon => atOnce(Lexicon.compile(entries));
