// The voice of a text on the command line where none is named.
import { autoLanguage } from '../speech/fields.ts';
import { isSpokenBy, type Voices } from '../speech/voice.ts';
import { toLanguageCode } from '../text/language-code.ts';
import { UsageError } from './command.ts';

/** The first voice; if a language is given, the first one that speaks it. */
export function chooseVoice(voices: Voices, language: string | undefined): string {
  const code = language === undefined || language === autoLanguage ? undefined : toLanguageCode(language);
  const able = voices.list().filter(({ status, bindings }) => status === 'ready' && bindings.length > 0);
  const chosen = able.find(({ voice }) => code === undefined || isSpokenBy(voice, code));
  if (!chosen) throw new UsageError(`no voice here speaks ${language}; sonant voice list prints the languages`);
  return chosen.voice.voiceId;
}
