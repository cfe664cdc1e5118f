// VITS models, including Piper's: one ONNX file, tokens.txt and, unless tokens are characters, eSpeak NG's data or a
// lexicon. The ONNX metadata decides which of them is needed, as in the library.
import { join } from 'node:path';
import type { ModelFacts, Reading } from './model.ts';
import { elementTypes, type ModelFiles, type OnnxChecks } from './model-files.ts';

const { float, int64 } = elementTypes;
const sentinels = ['<PAD>', '<EOS>', '<BOS>', '<BLNK>'];
const counts = ['add_blank', 'blank_id', 'bos_id', 'eos_id', 'pad_id', 'use_eos_bos', 'jieba', 'speaker_id'];

export async function readVitsModel(files: ModelFiles, modelName: string): Promise<ModelFacts> {
  const model = files.checkOnnx(modelName);
  const sampleRateHz = model.integer('sample_rate', 8_000, 48_000);
  const speakers = Math.max(1, model.integer('n_speakers', 0, 10_000));
  for (const key of counts) model.integer(key, 0, 1_000_000, 0);
  const comment = model.needText('comment');
  const language = model.needText('language');
  const isPiper = comment.includes('piper') || comment.includes('coqui');
  const isMelo = comment.includes('melo');

  if (isPiper) model.needInputs([int64, int64, float], [/^sid$/, /^langid$/]);
  else if (isMelo) model.needInputs([int64, int64, int64, int64, float, float, float]);
  else if (comment.includes('Inflect')) model.needInputs([int64, int64, float, float]);
  else model.needInputs([int64, int64, float, float, float], [/^(sid|speaker)$/, /^emotion(_id)?$/]);
  if (speakers > 1 && !isMelo && !model.inputs.some((name) => name === 'sid' || name === 'speaker')) {
    model.fault(`has ${speakers} speakers in its metadata, but no input to choose one by`);
  }

  const config = { model: files.needFile(modelName), tokens: files.needFile('tokens.txt') };
  const { reading, added } = await findReading(files, model, language);
  const piper = files.sizes.has(`${modelName}.json`) ? await files.readJson(`${modelName}.json`) : undefined;
  return {
    config: { vits: { ...config, ...added } },
    sampleRateHz,
    speakers,
    speakerNames: piperNames(piper, speakers),
    languageHints: [piperLanguage(piper), model.text('voice'), language],
    reading,
  };
}

async function findReading(
  files: ModelFiles,
  model: OnnxChecks,
  language: string,
): Promise<{ reading: Reading; added: Record<string, string> }> {
  const comment = model.text('comment');
  const flag = (key: string) => Number(model.text(key)) > 0;
  if (model.text('frontend') === 'characters') {
    const tokens = await files.needTokens({ areCharacters: true, others: sentinels });
    return { reading: { by: 'characters', tokens: new Set(tokens.keys()) }, added: {} };
  }
  const phonemizes = /piper|coqui|icefall|Inflect/.test(comment);
  const isChineseLexicon = flag('jieba') || flag('has_g2pw');
  if (phonemizes && !isChineseLexicon && (await files.hasEspeakData())) {
    const needed = comment.includes('coqui') ? [','] : comment.includes('Inflect') ? ['_'] : ['_', '^', '$'];
    await files.needTokens({ areCharacters: true, others: ['<BLNK>'] }, needed);
    return { reading: { by: 'phonemes' }, added: { dataDir: await files.needEspeakData() } };
  }
  if (!files.sizes.has('lexicon.txt')) {
    const missing = 'lexicon.txt and espeak-ng-data are both missing';
    model.fault(`needs one of them for its tokens, but ${missing}; use the complete folder of the release`);
  }
  const isWorded = !isChineseLexicon && !comment.includes('melo') && language.toLowerCase() !== 'chinese';
  await files.needTokens({ areCharacters: false }, isWorded ? [' '] : []);
  const lexicon = join(files.folder, 'lexicon.txt');
  const reading: Reading = isWorded ? { by: 'lexicon', path: lexicon } : { by: 'phonemes' };
  return { reading, added: { lexicon } };
}

function piperLanguage(config: Record<string, unknown> | undefined): string {
  const { code } = (config?.language ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function piperNames(config: Record<string, unknown> | undefined, speakers: number): string[] {
  const names: string[] = [];
  for (const [name, number] of Object.entries((config?.speaker_id_map ?? {}) as Record<string, unknown>)) {
    if (Number.isInteger(number) && (number as number) >= 0 && (number as number) < speakers)
      names[number as number] = name;
  }
  return names;
}

const vocoderTypes = ['vocos', 'matcha-tts vocos', 'hifigan'];

/** Whether an ONNX file is a vocoder. */
export const isVocoder = (files: ModelFiles, name: string): boolean =>
  vocoderTypes.includes(files.checkOnnx(name).text('model_type')) || /^(vocos|hifigan|vocoder)/.test(name);

export function needVocoder(files: ModelFiles, kinds: readonly string[] = vocoderTypes): string | undefined {
  const name = files.onnxNames.find((each) => isVocoder(files, each));
  if (name === undefined) {
    files.faults.add('vocos.onnx', 'is missing: this kind of model needs a vocoder (vocos-*.onnx) in its folder');
    return undefined;
  }
  const vocoder = files.checkOnnx(name);
  const kind = vocoder.text('model_type');
  if (!kinds.includes(kind))
    vocoder.fault(`has ${JSON.stringify(kind)} as model_type; it must be ${kinds.join(' or ')}`);
  vocoder.needInputs([float]);
  return join(files.folder, name);
}

export async function readMatchaModel(files: ModelFiles, modelName: string): Promise<ModelFacts> {
  const model = files.checkOnnx(modelName);
  const sampleRateHz = model.integer('sample_rate', 8_000, 48_000);
  const speakers = Math.max(1, model.integer('n_speakers', 0, 10_000));
  const hasEnds = model.integer('use_eos_bos', 0, 1) === 1;
  model.integer('pad_id', 0, 1_000_000);
  if (model.inputs[2] === 'scales') model.needInputs([int64, int64, float]);
  else model.needInputs([int64, int64, float, float], [/^sid$/]);
  const needsVocoder = model.outputs[0] !== 'audio_output';
  const vocoder = needsVocoder ? needVocoder(files) : undefined;

  const voice = model.text('voice');
  const isBilingual = voice === 'zh en-us';
  const isChinese = Number(model.text('jieba')) > 0;
  const phonemizes = isBilingual || (!isChinese && Number(model.text('has_espeak')) > 0);
  if (!phonemizes && !isChinese)
    model.fault('states neither has_espeak nor jieba in its metadata, so its text format is unknown');
  const isWorded = isBilingual || isChinese;
  await files.needTokens({ areCharacters: !isWorded }, isBilingual ? [' '] : isChinese || !hasEnds ? [] : ['^', '$']);
  return {
    config: {
      matcha: {
        acousticModel: join(files.folder, modelName),
        tokens: files.needFile('tokens.txt'),
        ...(vocoder && { vocoder }),
        ...(isWorded && { lexicon: files.needFile('lexicon.txt') }),
        ...(phonemizes && { dataDir: await files.needEspeakData() }),
      },
    },
    sampleRateHz,
    speakers,
    speakerNames: model.names('speaker_names'),
    languageHints: [isWorded ? 'zh' : voice, model.text('language')],
    alsoSpeaks: isBilingual ? ['en'] : [],
    reading: { by: 'phonemes' },
  };
}
