// The settings of stored voices, lexicons and models.
import {
  choiceSetting,
  flagSetting,
  integerSetting,
  longSecretSetting,
  textSetting,
  urlSetting,
} from '../platform/runtime/setting-types.ts';

export const librarySettings = {
  masterKey: longSecretSetting({
    name: 'SONANT_MASTER_KEY',
    help: 'Secret that encrypts cloned voices; default: the file master-key in the data folder, created when it is first needed',
  }),
  lexiconsPerAccount: integerSetting({
    name: 'SONANT_LEXICONS_PER_ACCOUNT',
    help: 'Most lexicons of an account: a key that the operator created and all keys derived from it',
    range: [0, 10_000],
    fallback: 100,
  }),
  voicesPerAccount: integerSetting({
    name: 'SONANT_VOICES_PER_ACCOUNT',
    help: 'Most voices that an account may create; keys with the scope admin, and the command line, are not limited',
    range: [0, 10_000],
    fallback: 200,
  }),
  modelsFile: textSetting({
    name: 'SONANT_MODELS',
    explicitOnly: true,
    help: 'File with your own models to install, JSON or TOML; a model replaces the built-in model of the same name',
    allowed: 'a path that ends in .json or .toml',
    isAllowed: (given) => /\.(json|toml)$/i.test(given),
  }),
  modelsUrl: urlSetting({
    name: 'SONANT_MODELS_URL',
    help: 'Mirror of the models: a URL to which Sonant appends /RELEASE/FILE, such as /tts-models/vits-piper-de_DE-thorsten-medium.tar.bz2',
  }),
  modelsOffline: flagSetting({
    name: 'SONANT_MODELS_OFFLINE',
    help: '1: download no models, neither through the API nor with sonant voice get, which still accepts files',
  }),
  fetchVoice: choiceSetting<'on' | 'off'>({
    name: 'SONANT_FETCH_VOICE',
    help: 'Whether a service without a natural voice fetches one in the background (about 20 MB)',
    choices: ['on', 'off'],
    fallback: 'on',
  }),
};
