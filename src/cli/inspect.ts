// `sonant inspect FILE`: prints what an audio file states about its origin, and whether this installation created it.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { InspectAudioResponseSchema } from '../../gen/sonant/v1/provenance_pb.ts';
import { inspectAudio } from '../api/provenance.ts';
import { writeMessage } from '../contract/encode.ts';
import { type Command, formatTable, jsonFlag, onlyArgument, parseCommandArgs, withOpened } from './command.ts';

const options = { json: jsonFlag };

export const inspectCommand: Command = {
  name: 'inspect',
  summary: 'print what an audio file states about its origin',
  options,
  examples: ['sonant inspect letter.mp3'],
  usage: () => `Usage: sonant inspect FILE [--json]

Prints the tags of a WAV, MP3, FLAC or Ogg Opus file, the digital source type that they state, and the record of the
audio, if this installation made it and the record is still kept. The record is searched by the audio itself, so it is
found even if the tags were changed.`,
  async run({ args, openClipRows, print }) {
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const path = onlyArgument(positionals, 'sonant inspect FILE [--json]');
    const audioId = /aud_\w+/.exec(basename(path))?.[0] ?? '';
    const found = await withOpened(await openClipRows(), async ({ rows }) =>
      inspectAudio({ file: await readFile(path), audioId }, rows),
    );
    if (values.json) {
      print(
        JSON.stringify(writeMessage(InspectAudioResponseSchema, create(InspectAudioResponseSchema, found)), null, 2),
      );
      return 0;
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
        [
          'MANIFEST',
          manifest ? manifest.problems.join('; ') || `valid, signed by ${manifest.issuer}` : 'none in the file',
        ],
        ...tags.map(({ name, value }) => [name, value]),
      ]),
    );
    return 0;
  },
};
