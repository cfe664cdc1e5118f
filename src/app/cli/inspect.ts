// `sonant inspect FILE`: prints whether this installation made an audio file, and whether the file is unchanged.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { InspectAudioResponseSchema } from '../../../gen/sonant/v1/provenance_pb.ts';
import { writeMessage } from '../../contract.ts';
import { pathBeside } from './audio-sink.ts';
import { type Command, formatTable, jsonFlag, onlyArgument, parseCommandArgs, withOpened } from './command.ts';

const options = { json: jsonFlag };

export const inspectCommand: Command = {
  name: 'inspect',
  summary: 'print whether this installation made an audio file',
  options,
  examples: ['sonant inspect letter.mp3'],
  usage: () => `Usage: sonant inspect FILE [--json]

Prints whether this installation made a WAV, MP3, FLAC or Ogg Opus file, and exits with 1 unless it made the file and the
audio is unchanged. It checks the manifest in FILE or, if it has none, the one beside it with the extension .c2pa, with
the certificates of this installation, present and former. It also searches the record of the audio by the audio itself,
and prints the tags, which anyone can change. Use c2patool for the C2PA manifests of others.`,
  async run({ args, signal, openInspection, print }) {
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const path = onlyArgument(positionals, 'sonant inspect FILE [--json]');
    const audioId = /aud_\w+/.exec(basename(path))?.[0] ?? '';
    const besidePath = pathBeside(path, 'c2pa');
    const beside = existsSync(besidePath) ? await readFile(besidePath) : undefined;
    const file = await readFile(path);
    const found = await withOpened(await openInspection(), ({ inspect }) => inspect({ file, beside, audioId }, signal));
    const code = found.authentic ? 0 : 1;
    if (values.json) {
      const message = create(InspectAudioResponseSchema, found);
      print(JSON.stringify(writeMessage(InspectAudioResponseSchema, message), null, 2));
      return code;
    }
    const { format, sha256, digitalSourceType, tags, record, manifest } = found;
    const made =
      record && `${record.audioId}, voice ${record.voiceId}${record.matches ? '' : ', but its audio was changed'}`;
    print(
      formatTable([
        ['FORMAT', format || 'unknown'],
        ['SHA-256', sha256],
        ['SOURCE TYPE', digitalSourceType || 'not stated'],
        ['MADE HERE', made ?? 'no record'],
        ['MANIFEST', manifest ? manifest.problems.join('; ') || `valid, signed by ${manifest.issuer}` : 'none'],
        ...tags.map(({ name, value }) => [name, value]),
      ]),
    );
    return code;
  },
};
