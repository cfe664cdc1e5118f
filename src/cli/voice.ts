// `sonant voice`: who can speak here, and voices of the operator's own.
import type { Voice } from '../engines/engine.ts';
import { isSpokenBy } from '../speech/voice.ts';
import { type Command, formatTable, parseCommandArgs, UsageError } from './command.ts';
import { importVoice } from './voice-import.ts';

export const voiceCommand: Command = {
  name: 'voice',
  summary: 'list the voices there are, take in your own',
  help: () => `Usage: sonant voice list [--language CODE] [--json]
       sonant voice import PATH [--name NAME]

Lists the voices that can speak here, the default one first; or takes in a voice of your own: a voice file, or a
neural model as a folder or an archive (.tar, .tar.gz, .tar.bz2). It is checked and heard before it is taken.

  --language CODE  only voices that speak this language, such as en-GB
  --json           one JSON array, for programs
  --name NAME      what the voice is to be called; default: the name that the file or folder has
`,
  async run({ args, signal, loadConfig, openApp, print }) {
    const options = { language: { type: 'string' }, json: { type: 'boolean' }, name: { type: 'string' } } as const;
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const [action, path, ...others] = positionals;
    if (action === 'import' && path !== undefined && others.length === 0) {
      const { name } = values;
      await importVoice({ path, dataDir: loadConfig().dataDir, ...(name !== undefined && { name }), signal, print });
      return 0;
    }
    if (positionals.join(' ') !== 'list')
      throw new UsageError('the command is: sonant voice list, or sonant voice import PATH; --help tells more');
    const { language } = values;
    const app = await openApp();
    try {
      const voices = app.voices.list().filter((voice) => language === undefined || isSpokenBy(voice, language));
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
