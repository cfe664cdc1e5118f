// Models that clone the voice of a reference: ZipVoice, which needs a transcript, and Pocket. Their only voices are the
// samples that come with them.
import { join } from 'node:path';
import type { ModelFacts } from './model.ts';
import { elementTypes, type ModelFiles, needPart } from './model-files.ts';
import { findSamples } from './voice-samples.ts';

const { float, int64 } = elementTypes;
const pocketRateHz = 24_000;

const steps = { zipvoice: 4, pocket: 5 };

export async function readZipvoiceModel(files: ModelFiles): Promise<ModelFacts> {
  const [encoder, decoder] = [needPart(files, 'encoder'), needPart(files, 'decoder')];
  files.checkOnnx(encoder).needInputs([int64, int64, int64, float]);
  files.checkOnnx(decoder).needInputs([float, float, float, float, float]);
  const sampleRateHz = files.checkOnnx(decoder).integer('sample_rate', 8_000, 48_000, 24_000);
  await files.needTokens([' ']);
  const vocoder = needVocoder(files);
  return {
    config: {
      zipvoice: {
        tokens: files.needFile('tokens.txt'),
        encoder: join(files.folder, encoder),
        decoder: join(files.folder, decoder),
        ...(vocoder && { vocoder }),
        lexicon: files.needFile('lexicon.txt'),
        dataDir: await files.needEspeakData(),
      },
    },
    sampleRateHz,
    speakers: 0,
    speakerNames: [],
    languageCodes: ['zh', 'en'],
    zeroShot: { needsReferenceText: true, samples: await findSamples(files.folder, true) },
    steps: steps.zipvoice,
  };
}

const vocoderTypes = ['vocos', 'matcha-tts vocos', 'hifigan'];
const usableVocoders = vocoderTypes.slice(0, 2);

function needVocoder(files: ModelFiles): string | undefined {
  const typeOf = (name: string) => files.checkOnnx(name).text('model_type');
  const isVocoder = (name: string) => vocoderTypes.includes(typeOf(name)) || /^(vocos|hifigan|vocoder)/.test(name);
  const name = files.onnxNames.find(isVocoder);
  if (name === undefined) {
    files.faults.add('vocos.onnx', 'is missing: this kind of model needs a vocoder (vocos-*.onnx) in its folder');
    return undefined;
  }
  const vocoder = files.checkOnnx(name);
  // The library takes the path of a HiFi-GAN vocoder from another field, so this kind of model cannot use one.
  if (!usableVocoders.includes(typeOf(name)))
    vocoder.fault(`has ${JSON.stringify(typeOf(name))} as model_type; it must be ${usableVocoders.join(' or ')}`);
  vocoder.needInputs([float]);
  return join(files.folder, name);
}

const pocketParts = {
  lmFlow: { beginning: 'lm_flow', inputs: [float, float, float, float] },
  lmMain: { beginning: 'lm_main', inputs: [float, float], hasMore: true },
  encoder: { beginning: 'encoder', inputs: [float] },
  decoder: { beginning: 'decoder', inputs: [float], hasMore: true },
  textConditioner: { beginning: 'text_conditioner', inputs: [int64] },
} as const;

export async function readPocketModel(files: ModelFiles): Promise<ModelFacts> {
  const paths: Record<string, string> = {};
  for (const [key, { beginning, inputs, ...more }] of Object.entries(pocketParts)) {
    const name = needPart(files, beginning);
    files.checkOnnx(name).needInputs(inputs, more);
    paths[key] = join(files.folder, name);
  }
  await checkVocabulary(files);
  return {
    config: {
      pocket: {
        ...paths,
        vocabJson: join(files.folder, 'vocab.json'),
        tokenScoresJson: join(files.folder, 'token_scores.json'),
      },
    },
    sampleRateHz: pocketRateHz,
    speakers: 0,
    speakerNames: [],
    languageCodes: ['en'],
    zeroShot: { needsReferenceText: false, samples: await findSamples(files.folder, false) },
    steps: steps.pocket,
    isSeeded: true,
  };
}

/** The library writes out of bounds if a token number is too high, and skips text that no token covers. */
async function checkVocabulary(files: ModelFiles): Promise<void> {
  const vocabulary = await files.readJson('vocab.json');
  const scores = await files.readJson('token_scores.json');
  if (vocabulary) {
    const ids = Object.values(vocabulary);
    if (!ids.every((id) => Number.isInteger(id) && (id as number) >= 0 && (id as number) < ids.length)) {
      files.faults.add('vocab.json', 'must give each token a number of its own, from 0 up');
    }
    const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
    const lacking = bytes.find((token) => !(token in vocabulary));
    if (lacking) files.faults.add('vocab.json', `lacks the token ${lacking}`);
  }
  if (scores && !Object.values(scores).every((score) => typeof score === 'number')) {
    files.faults.add('token_scores.json', 'must give each token a score');
  }
}
