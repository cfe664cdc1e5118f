// The settings of models that are fetched.
import { flagSetting, textSetting } from '../runtime/setting.ts';

export const modelsSettings = {
  modelsFile: textSetting({
    name: 'SONANT_MODELS',
    help: 'File with models of your own to get, JSON or TOML; a model of the same name takes the place of ours',
    allowed: 'a path that ends in .json or .toml',
    isAllowed: (given) => /\.(json|toml)$/i.test(given),
  }),
  modelsUrl: textSetting({
    name: 'SONANT_MODELS_URL',
    help: 'Mirror of the models: a URL to which /RELEASE/FILE is added, such as /tts-models/kokoro-multi-lang-v1_0.tar.bz2',
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: (given) => /^https?:\/\/[^/]/.test(given) && !given.endsWith('/') && URL.canParse(given),
  }),
  modelsOffline: flagSetting({
    name: 'SONANT_MODELS_OFFLINE',
    help: '1: fetch no models, neither by the API nor by sonant voice get, which still takes files',
  }),
};
