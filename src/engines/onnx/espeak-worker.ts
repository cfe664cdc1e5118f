// A process that asks eSpeak NG's library, which the operator has installed, for the phonemes of texts.
import { serveTasks } from '../../platform/runtime/host-child.ts';
import { openLibrary } from '../espeak-ng/espeak-library.ts';
import type { PhonemeWord } from '../phonemes/tokens.ts';
import { toEspeakWords } from './espeak-words.ts';
import type { PhonemeTask } from './phoneme-worker.ts';

export interface EspeakStart {
  library: string;
  /** eSpeak NG's name of the language. */
  voice: string;
}

serveTasks<EspeakStart, PhonemeTask, readonly PhonemeWord[]>(({ library, voice }) => {
  const { toIpa } = openLibrary(library);
  toIpa('', voice);
  return ({ text, phonemes }, { send }) => send([toEspeakWords(text, phonemes, (words) => toIpa(words, voice))]);
});
