// Matcha models: the acoustic model, a vocoder beside it (vocos or HiFi-GAN) unless it makes sound by itself, tokens.txt,
// and eSpeak NG's data, a lexicon, or both.
import { join } from 'node:path';
import type { ModelFacts } from './model.ts';
import { elementTypes, type ModelFiles } from './model-files.ts';

const { float, int64 } = elementTypes;
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
    model.fault('says neither has_espeak nor jieba in its metadata: its text cannot be read');
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
