// A thread that reads the phonemes of texts in one accent, for all voices. It takes about 40 MB.
import { serveTasks } from '../../platform/runtime/host-child.ts';
import type { Segment } from '../engine.ts';
import { openEnglish } from '../phonemes/english.ts';
import type { PhonemeWord } from '../phonemes/tokens.ts';
import type { Accent } from './kokoro-letters.ts';

export interface PhonemeStart {
  /** Folder with the dictionaries. */
  folder: string;
  accent: Accent;
}

export interface PhonemeTask {
  text: string;
  phonemes?: Segment['phonemes'];
}

serveTasks<PhonemeStart, PhonemeTask, readonly PhonemeWord[]>(({ folder, accent }) => {
  const phonemesOf = openEnglish(folder, accent);
  return ({ text, phonemes }, { send }) => send([phonemesOf(text, phonemes)]);
});
