// The flags of `sonant voice`, which its actions share.
import { type FlagsOf, flag, jsonFlag, option } from './command.ts';

export const voiceOptions = {
  language: option('CODE', 'only voices that speak this language, such as en-GB'),
  output: option('FILE', 'the file to write; default: standard output', { short: 'o' }),
  name: option(
    'NAME',
    'name of an imported engine voice or model; default: the name of its file or folder, or in the table',
  ),
  'voice-id': option('ID', 'id of a blended voice; default: its name if that is a valid id, else a new id'),
  access: option(
    'WHO',
    'who may speak with an imported stored voice: private or everyone; default: as it was exported',
  ),
  default: flag('make the installed voice the default; of several, the best'),
  remove: flag('remove the aliases, or the choice of the default voice'),
  'accept-licence': flag('accept a licence that forbids commercial use'),
  yes: flag('install the library that runs neural models without asking'),
  offline: flag('download nothing; list the files of the model after its name'),
  json: jsonFlag,
};

export type VoiceFlags = FlagsOf<typeof voiceOptions>;
