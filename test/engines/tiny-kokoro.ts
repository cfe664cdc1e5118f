// Writes a model of a few kilobytes of the Kokoro kind, in the layout of kokoro-multi-lang-v1_0 with all its speakers
// and the data of the installed eSpeak NG. It plays each phoneme as a tone of 60 ms at normal speed; each further
// speaker is a little higher. A model of the Kitten kind has the same parts and a speed per speaker.
import { globSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { float, floats, int64, integers, node, writeOnnx } from './onnx-writer.ts';

const sampleRateHz = 24_000;
const toneSeconds = 0.06;
const amplitude = 0.3;
const tokensMax = 64;
const styleSize = 4;
/** A blank, silent signs, and phonemes of several languages. */
const characters = `$;:,.!?—…"() ˈˌːabcdefghijklmnopqrstuvwxyzæçðøħŋœɐɑɒɓɔɕɖɗəɚɛɜɟɡɣɤɥɦɨɪɫɬɭɯɰɱɲɳɴɵɸɹɻɽɾʁʂʃʈʊʋʌʎʏʐʑʒʔʝʲβθχᵻ̃`;

export const kokoroNames = [
  ...['af_alloy', 'af_aoede', 'af_bella', 'af_heart', 'af_jessica', 'af_kore', 'af_nicole', 'af_nova', 'af_river'],
  ...['af_sarah', 'af_sky', 'am_adam', 'am_echo', 'am_eric', 'am_fenrir', 'am_liam', 'am_michael', 'am_onyx'],
  ...['am_puck', 'am_santa', 'bf_alice', 'bf_emma', 'bf_isabella', 'bf_lily', 'bm_daniel', 'bm_fable', 'bm_george'],
  ...['bm_lewis', 'ef_dora', 'em_alex', 'ff_siwis', 'hf_alpha', 'hf_beta', 'hm_omega', 'hm_psi', 'if_sara'],
  ...['im_nicola', 'jf_alpha', 'jf_gongitsune', 'jf_nezumi', 'jf_tebukuro', 'jm_kumo', 'pf_dora', 'pm_alex'],
  ...['pm_santa', 'zf_xiaobei', 'zf_xiaoni', 'zf_xiaoxiao', 'zf_xiaoyi', 'zm_yunjian', 'zm_yunxi', 'zm_yunxia'],
  ...['zm_yunyang'],
];

/** Path of eSpeak NG's data; undefined if it is not installed. */
export const findEspeakData = (): string | undefined => globSync('/usr/{lib/*,share,lib64}/espeak-ng-data')[0];

const isSung = (character: string) => /[\p{L}]/u.test(character) && !'ˈˌːʲ'.includes(character);

function writeSinging(metadata: Readonly<Record<string, string>>): Uint8Array {
  const each = [...characters];
  return writeOnnx({
    inputs: [
      ['tokens', int64, [1, 'length']],
      ['style', float, [1, styleSize]],
      ['speed', float, [1]],
    ],
    outputs: [['audio', float, ['samples']]],
    constants: {
      tones: floats(
        [each.length],
        each.map((character, n) => (isSung(character) ? 200 + 5 * n : 0)),
      ),
      loudness: floats(
        [each.length],
        each.map((character) => (isSung(character) ? amplitude : 0)),
      ),
      first: integers([1], [0]),
      third: integers([1], [2]),
      flat: integers([1], [-1]),
      time: integers([], [0]),
      samplesPerTone: floats([1], [Math.round(sampleRateHz * toneSeconds)]),
      radians: floats([1], [(2 * Math.PI) / sampleRateHz]),
    },
    nodes: [
      node('Gather', ['style', 'first'], ['speakerStyle'], { axis: 1 }),
      node('Gather', ['tones', 'tokens'], ['plainTone'], { axis: 0 }),
      node('Mul', ['plainTone', 'speakerStyle'], ['tone']),
      node('Gather', ['loudness', 'tokens'], ['level'], { axis: 0 }),
      node('Unsqueeze', ['tone', 'third'], ['tone3']),
      node('Unsqueeze', ['level', 'third'], ['level3']),
      node('Div', ['samplesPerTone', 'speed'], ['drawn']),
      node('Cast', ['drawn'], ['samples'], { to: int64 }),
      node('Shape', ['tokens'], ['count']),
      node('Concat', ['count', 'samples'], ['shape'], { axis: 0 }),
      node('Expand', ['tone3', 'shape'], ['toneLong']),
      node('Expand', ['level3', 'shape'], ['levelLong']),
      node('Reshape', ['toneLong', 'flat'], ['toneFlat']),
      node('Reshape', ['levelLong', 'flat'], ['levelFlat']),
      node('Mul', ['toneFlat', 'radians'], ['steps']),
      node('CumSum', ['steps', 'time'], ['phase']),
      node('Sin', ['phase'], ['wave']),
      node('Mul', ['wave', 'levelFlat'], ['audio']),
    ],
    metadata: { ...metadata, has_espeak: '1', sample_rate: String(sampleRateHz), voice: 'en-us' },
  });
}

const styleOf = (sid: number): number => 1 + sid / 100;

async function writeCommon(folder: string, espeakData: string, speakers: number): Promise<void> {
  const styles = Float32Array.from({ length: speakers * tokensMax * styleSize }, (_, n) =>
    styleOf(Math.floor(n / (tokensMax * styleSize))),
  );
  await writeFile(join(folder, 'voices.bin'), Buffer.from(styles.buffer));
  const tokens = [...characters].map((character, id) => `${character} ${id}\n`).join('');
  await writeFile(join(folder, 'tokens.txt'), tokens);
  await symlink(espeakData, join(folder, 'espeak-ng-data'));
}

/** Writes the model folder. `chinese` are the characters in its lexicon. */
export async function makeTinyKokoro(folder: string, espeakData: string, chinese: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const metadata = {
    ...{ model_type: 'kokoro', language: 'multi-lang, e.g., English, Chinese', version: '2' },
    style_dim: `${tokensMax},1,${styleSize}`,
    ...{ n_speakers: String(kokoroNames.length), speaker_names: kokoroNames.join(',') },
  };
  await writeFile(join(folder, 'model.onnx'), writeSinging(metadata));
  await writeCommon(folder, espeakData, kokoroNames.length);
  for (const name of ['us-en', 'gb-en']) await writeFile(join(folder, `lexicon-${name}.txt`), 'a a\n');
  await writeFile(join(folder, 'lexicon-zh.txt'), [...new Set(chinese)].map((each) => `${each} m a\n`).join(''));
  return folder;
}

/** The speed factor that the library gives each speaker in addition to the requested speed. */
export const kittenSpeeds = [0.8, 0.8, 0.8, 0.8, 1.6, 1.6, 1.6, 1.6];

/** Writes the model folder. */
export async function makeTinyKitten(folder: string, espeakData: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const metadata = {
    ...{ model_type: 'kitten-tts', language: 'English', version: '8', style_dim: `${tokensMax},${styleSize}` },
    ...{ n_speakers: String(kittenSpeeds.length), speaker_names: 'Bella,Jasper,Luna,Bruno,Rosie,Hugo,Kiki,Leo' },
    speaker_speed_priors: kittenSpeeds.join(','),
  };
  await writeFile(join(folder, 'model.onnx'), writeSinging(metadata));
  await writeCommon(folder, espeakData, kittenSpeeds.length);
  return folder;
}
