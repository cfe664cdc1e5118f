// Tests phonemes and pitch in the engines that support them: flite, and eSpeak NG if it is installed.
import { expect, test } from 'vitest';
import { medianPitchHz } from '../../bench/measuring/pitch.ts';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { openEspeakNg } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { toEspeakPhonemes } from '../../src/engines/espeak-ng/espeak-phonemes.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { toFlitePhones } from '../../src/engines/flite/flite-phones.ts';
import { toFliteText, toSpokenTokens, withPhones } from '../../src/engines/flite/flite-text.ts';
import { normalizeIpa } from '../../src/platform/ipa.ts';
import { joinPcm } from './open-guard.ts';

const text = 'I say tomato, New York, and so on, as long as nobody minds at all.';
const tomato = { from: 6, to: 12 };

async function speak(engine: Engine, voiceId: string, more: Partial<Segment> = {}) {
  const voice = engine.voices.find((each) => each.voiceId === voiceId)!;
  const segment = { voice, text, languageCode: 'en', speakingRate: 1, timings: true, urgent: true, ...more };
  const pieces = await Array.fromAsync(engine.speak(segment, new AbortController().signal));
  const samples = joinPcm(pieces);
  return { samples, sampleRateHz: pieces[0]!.sampleRateHz, words: pieces.flatMap(({ words = [] }) => words) };
}

test('the IPA is normalized', () => {
  expect(normalizeIpa(" /t͡ʃɪp/ g'a: ")).toBe('tʃɪp ɡˈaː');
  expect(normalizeIpa('| |')).toBeUndefined();
});

test.each([
  ['təˈmɑːtoʊ', 't ax m aa1 t ow'],
  ['ˈtʃɪkən', 'ch ih1 k ax n'],
  ['ˈnɜːrs', 'n er1 s'],
  ['ˌɪntəˈnæʃnəl', 'ih n t ax n ae1 sh n ax l'],
  ['ʁɔ̃', undefined],
])('%s is %s to flite', (ipa, phones) => expect(toFlitePhones(ipa.normalize('NFD'))).toBe(phones));

test.each([
  ['en-GB', 'təˈmɑːtəʊ', "[[t@'mA:toU]]"],
  ['de', 'ˈʃøːn', "[['SY:n]]"],
  ['fr-FR', 'bɔ̃ˈʒuʁ', "[[bO~'Zur]]"],
  ['es', 'ˈɡɾaθjas', "[['g*aTjas]]"],
  ['en', 'ʘ', undefined],
  ['zu', 'a', undefined],
])('in %s, %s is %s to eSpeak NG', (languageCode, ipa, phonemes) =>
  expect(toEspeakPhonemes(ipa.normalize('NFD'), languageCode)).toBe(phonemes),
);

test.each([
  // The example from the W3C recommendation.
  ['təmei̥ɾou̥', 't ax1 m ey d ow', '[[t@meI*oU]]'],
  ['kʰæt̚', 'k ae1 t', '[[kat]]'],
  ['t͡ʃɪ̈p', 'ch ih1 p', '[[tSIp]]'],
  ['d͜ʒʌm̥p', 'jh ah1 m p', '[[dZVmp]]'],
  ['ʧɪn', 'ch ih1 n', '[[tSIn]]'],
  ['ʤʊ̜s', 'jh uh1 s', '[[dZUs]]'],
  ['ma˥˩', 'm aa1', '[[ma]]'],
  ['má', 'm aa1', '[[ma]]'],
  ['nê', 'n eh1', '[[ne]]'],
  ['pʷɪnʲ', 'p ih1 n', '[[pIn]]'],
  ['tʼɛs̺tˠ', 't eh1 s t', '[[tEst]]'],
  ['buːˑ', 'b uw1', '[[bu:]]'],
  ['bʌtl̩̩', 'b ah1 t ax l', '[[bVtl]]'],
  ['hə˞d', 'hh er1 d', '[[h3d]]'],
  ['ꜛɾɛd↗', 'd eh1 d', '[[*Ed]]'],
  ['ˈaɪ̯s', 'ay1 s', "[['aIs]]"],
  ['bɑ̃', 'b aa1', '[[bA:]]'],
  ['bã́ⁿ', 'b aa1', '[[ba]]'],
  ['tɛ⁵⁵', 't eh1', '[[tE]]'],
  ['ʘ̥a', undefined, undefined],
])('%s is the nearest sounds of the voice: %s to flite, %s to eSpeak NG', (ph, phones, phonemes) => {
  const ipa = normalizeIpa(ph)!;
  expect(toFlitePhones(ipa)).toBe(phones);
  expect(toEspeakPhonemes(ipa, 'en')).toBe(phonemes);
});

test('a diacritic that makes another sound of a language is kept', () => {
  expect(toEspeakPhonemes(normalizeIpa('bɔ̃́ːʒuʁ̥')!, 'fr')).toBe('[[bO~:Zur]]');
  expect(toEspeakPhonemes(normalizeIpa('pẽ̀')!, 'pt')).toBe('[[pe~]]');
  expect(toFlitePhones(normalizeIpa('bʌtn̩')!)).toBe('b ah1 t ax n');
});

test('no characters of markup in a text reach the engine', () => {
  const hostile = 'a <phoneme ph="x"> [[b]] & c';
  expect(toFliteText(toSpokenTokens(hostile))).not.toMatch(/[<>&[\]]/);
  const ranges = [{ from: 2, to: 10, phonemes: 't ax' }];
  expect(toFliteText(withPhones(toSpokenTokens('Hi New York, you.'), ranges))).toBe(
    'Hi <phoneme ph="t ax">New</phoneme> <phoneme ph="t ax">York,</phoneme> you.'.replace(
      'New</phoneme> <phoneme ph="t ax">York,',
      'New,',
    ),
  );
});

test('flite pronounces a word as stated, keeps the others, and raises the pitch of all models but one', async () => {
  const engine = await openFlite({ threads: 1 });
  try {
    const plain = await speak(engine, 'clara');
    const stated = await speak(engine, 'clara', { phonemes: [{ ...tomato, phonemes: 'b ey1 k ax n' }] });
    expect(stated.words.map(({ from }) => from)).toEqual(plain.words.map(({ from }) => from));
    expect(Buffer.compare(Buffer.from(stated.samples.buffer), Buffer.from(plain.samples.buffer))).not.toBe(0);
    const raised = await speak(engine, 'clara', { pitch: 1.2 });
    expect(medianPitchHz(raised) / medianPitchHz(plain)).toBeGreaterThan(1.12);
    const pitchesOf = (id: string) =>
      engine.capabilitiesOf!(engine.voices.find(({ voiceId }) => voiceId === id)!, 'en').pitches;
    expect(pitchesOf('clara')).toEqual({ min: 0.5, max: 2 });
    expect(pitchesOf('arthur')).toBeUndefined();
  } finally {
    await engine.close();
  }
});

const espeak = await openEspeakNg();

test.runIf(espeak)('eSpeak NG pronounces a word as stated, and changes its pitch', async () => {
  const plain = await speak(espeak!, 'espeak-en-us');
  const stated = await speak(espeak!, 'espeak-en-us', { phonemes: [{ ...tomato, phonemes: "[[t@'mA:toU]]" }] });
  expect(Buffer.compare(Buffer.from(stated.samples.buffer), Buffer.from(plain.samples.buffer))).not.toBe(0);
  expect(stated.samples.length / plain.samples.length).toBeGreaterThan(0.9);
  const raised = await speak(espeak!, 'espeak-en-us', { pitch: 1.3 });
  expect(medianPitchHz(raised) / medianPitchHz(plain)).toBeGreaterThan(1.15);
  await espeak!.close();
});
