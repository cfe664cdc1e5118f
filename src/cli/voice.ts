// `sonant voice list`: who can speak here.
import type { Voice } from '../engines/engine.ts';
import { isSpokenBy } from '../speech/voice.ts';
import { type Command, formatTable, parseCommandArgs, UsageError } from './command.ts';

export const voiceCommand: Command = {
  name: 'voice',
  summary: 'list the voices there are',
  help: () => `Usage: sonant voice list [--language CODE] [--json]

Lists the voices that can speak here, the default one first.

  --language CODE  only voices that speak this language, such as en-GB
  --json           one JSON array, for programs
`,
  async run({ args, openApp, print }) {
    const options = { language: { type: 'string' }, json: { type: 'boolean' } } as const;
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    if (positionals.join(' ') !== 'list')
      throw new UsageError('the command is: sonant voice list [--language CODE] [--json]');
    const { language } = values;
    const app = await openApp();
    try {
      const voices = app.voices
        .list()
        .map(({ voice }) => voice)
        .filter((voice) => language === undefined || isSpokenBy(voice, language));
      print(values.json ? JSON.stringify(voices.map(toJson), null, 2) : formatTable([heading, ...voices.map(toRow)]));
      return 0;
    } finally {
      await app.close();
    }
  },
};

const heading = ['VOICE', 'NAME', 'LANGUAGES', 'ENGINE', 'DESCRIPTION'];
const toRow = ({ voiceId, name, languageCodes, engine, description }: Voice) => [
  voiceId,
  name,
  languageCodes.join(','),
  engine,
  description,
];

const toJson = ({ voiceId, name, description, kind, engine, languageCodes, labels }: Voice) => ({
  voice_id: voiceId,
  name,
  description,
  kind,
  engine,
  language_codes: languageCodes,
  labels,
});
