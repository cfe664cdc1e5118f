// Kokoro and Kitten models: one ONNX file, the speakers' styles in voices.bin (32-bit floats, speaker by speaker),
// tokens.txt and eSpeak NG's data. Names of Kokoro's speakers state language and gender: "bf_emma" is British and
// female.
import { join } from 'node:path';
import type { ModelFacts, NamedSpeaker, StyleFile } from './model.ts';
import { elementTypes, type ModelFiles } from './model-files.ts';

const { float, int64 } = elementTypes;

/** Languages by the first letter of a Kokoro speaker's name: the code for callers, and the code for eSpeak NG. */
const kokoroLanguages: Readonly<Record<string, readonly [code: string, espeak: string]>> = {
  a: ['en-US', 'en-us'],
  // eSpeak NG finds a voice by its file name: British English is in "en", and no file is named "en-gb".
  b: ['en-GB', 'en'],
  e: ['es', 'es'],
  f: ['fr', 'fr'],
  h: ['hi', 'hi'],
  i: ['it', 'it'],
  j: ['ja', 'ja'],
  p: ['pt-BR', 'pt-br'],
  // Chinese characters are read with the lexicon; other text is read as English.
  z: ['zh', 'en-us'],
};
/**
 * Kokoro rounds each sound to whole frames of 25 ms, at least one. A sound has three frames on average. Within this
 * range of speeds, the rounding errors cancel out to within 3 % of the speed. At higher speeds, more and more sounds
 * have the minimum length of one frame.
 */
const speakingRates = { min: 0.8, max: 1.25 };

export async function readKokoroModel(files: ModelFiles, modelName: string): Promise<ModelFacts> {
  const model = files.checkOnnx(modelName);
  model.integer('has_espeak', 0, 1);
  const facts = await readStyleModel(files, modelName, 3);
  const lexicons = [...files.sizes.keys()].filter((name) => /^lexicon.*\.txt$/.test(name));
  // One English lexicon is enough: other accents are spoken through eSpeak NG.
  const english = lexicons.find((name) => name.includes('us-en')) ?? lexicons.find((name) => name.includes('en'));
  const used = lexicons.filter((name) => name === english || !name.includes('en'));
  const isMultilingual = model.integer('version', 0, 1_000, 1) >= 2;
  if (isMultilingual && used.length === 0) model.fault('needs its lexicons, lexicon-us-en.txt and others, beside it');
  const { dataDir, voices, tokens } = facts.paths;
  const styles: StyleFile = { ...facts.styles, kind: 'kokoro' };
  const lexicon = isMultilingual ? { lexicon: used.map((name) => join(files.folder, name)).join(',') } : {};
  const hasChinese = used.some((name) => name.includes('zh'));
  return {
    ...facts,
    styles,
    config: { kokoro: { model: join(files.folder, modelName), voices, tokens, dataDir, ...lexicon } },
    speakerOf: (name) => kokoroSpeaker(name, isMultilingual, hasChinese),
  };
}

function kokoroSpeaker(name: string, isMultilingual: boolean, hasChinese: boolean): NamedSpeaker {
  const [, language = '', gender = ''] = /^([a-z])([fm])_/.exec(name) ?? [];
  const labels = gender === '' ? {} : { gender: gender === 'f' ? 'female' : 'male' };
  const [code, espeak] = kokoroLanguages[language] ?? [];
  if (!code || !espeak || (language === 'z' && !hasChinese)) return { labels };
  const bare = new Intl.Locale(code).language;
  return { languageCodes: [...new Set([code, bare])], labels, ...(isMultilingual && { extra: { lang: espeak } }) };
}

export async function readKittenModel(files: ModelFiles, modelName: string): Promise<ModelFacts> {
  const model = files.checkOnnx(modelName);
  model.integer('has_espeak', 1, 1);
  const facts = await readStyleModel(files, modelName, 2);
  const { dataDir, voices, tokens } = facts.paths;
  const speeds = model.names('speaker_speed_priors').map(Number);
  const styles: StyleFile = { ...facts.styles, kind: 'kitten', speeds };
  return { ...facts, styles, config: { kitten: { model: join(files.folder, modelName), voices, tokens, dataDir } } };
}

async function readStyleModel(files: ModelFiles, modelName: string, dimensions: 2 | 3) {
  const model = files.checkOnnx(modelName);
  const sampleRateHz = model.integer('sample_rate', 8_000, 48_000);
  const speakers = model.integer('n_speakers', 1, 10_000);
  model.needInputs([int64, float, float]);
  const style = model.text('style_dim').split(',').map(Number);
  const isStyle = style.length === dimensions && style.every((size) => Number.isInteger(size) && size > 0);
  if (!isStyle || (dimensions === 3 && style[1] !== 1)) {
    model.fault(`has no style_dim of ${dimensions} sizes in its metadata; use a model exported for sherpa-onnx`);
  }
  const bytesPerSpeaker = 4 * style.reduce((product, size) => product * size, 1);
  const bytes = speakers * bytesPerSpeaker;
  const voices = files.needFile('voices.bin');
  const found = files.sizes.get('voices.bin');
  if (isStyle && speakers > 0 && found !== undefined && found !== bytes) {
    files.faults.add(
      'voices.bin',
      `has ${found} bytes, but ${modelName} needs ${bytes}; it belongs to another model or is damaged`,
    );
  }
  await files.needTokens({ areCharacters: true }, [' ']);
  return {
    paths: { voices, tokens: files.needFile('tokens.txt'), dataDir: await files.needEspeakData() },
    styles: { path: voices, member: 'voices', sections: [{ offset: 0, bytesPerSpeaker }], speeds: [] },
    sampleRateHz,
    speakers,
    speakerNames: model.names('speaker_names'),
    languageHints: [model.text('voice'), model.text('language'), 'en'],
    reading: { by: 'phonemes' } as const,
    speakingRates,
  };
}
