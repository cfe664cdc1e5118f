// Tests how English is written for voices of Piper, and how phrases of other languages are paired with phonemes.
import { describe, expect, test } from 'vitest';
import { toEspeakWords, toLetterWords } from '../../src/engines/onnx/espeak-words.ts';
import { readPiperConfig } from '../../src/engines/onnx/piper-config.ts';
import { toPiperIpa } from '../../src/engines/onnx/piper-letters.ts';

/** Writes words with these phonemes, in the order of the text. */
function write(text: string, phonemes: string, accent: 'US' | 'GB' = 'US'): string {
  const places = [...text.matchAll(/[\p{L}']+|[^\s]/gu)];
  const words = phonemes.split(' ').map((each, n) => {
    const { 0: found, index } = places[n]!;
    return { start: index, end: index + found.length, phonemes: each };
  });
  return toPiperIpa(words, text, accent)
    .map((word) => word.phonemes)
    .join(' ');
}

describe('English for Piper', () => {
  test.each([
    ['the current number of', 'ðə kˈɜɹənt nˈʌmbəɹ ʌv', 'ðə kˈɜːɹənt nˈʌmbɚɹ ʌv'],
    ['we go to Joe', 'wi ɡˈO tə ʤˈO', 'wiː ɡˈoʊ tə dʒˈoʊ'],
    ['remove the button', 'ɹəmˈuv ðə bˈʌtn', 'ɹᵻmˈuːv ðə bˈʌʔn̩'],
    ['if it is possible', 'ˌɪf ɪt ɪz pˈɑsəbᵊl', 'ɪf ɪɾ ɪz pˈɑːsᵻbəl'],
    ['avoid boys', 'əvˈYd bˈYz', 'ɐvˈɔɪd bˈɔɪz'],
    ['the end — yes', 'ði ˈɛnd — jˈɛs', 'ðɪ ˈɛnd , jˈɛs'],
  ])('%s', (text, letters, written) => {
    expect(write(text, letters)).toBe(written);
  });

  test('British English has its own vowels', () => {
    expect(write('the actor is there', 'ði ˈaktə ɪz ðˈɛː', 'GB')).toBe('ðɪ ˈæktɐɹ ɪz ðˈeə');
  });
});

describe('words with phonemes of phrases', () => {
  const ipa: Record<string, string> = { 'in der Stadt': 'ɪndɾ ʃtˈat', 'drei Uhr': 'dɾˈaɪ (en)ˈuːɾ(de)', A: 'ɛɪ bˈeː' };

  test('are paired one to one, or with their neighbours', () => {
    const text = 'in der Stadt, drei Uhr! A';
    const words = toEspeakWords(text, [], (phrase) => ipa[phrase]!);
    expect(words.map(({ start, end, phonemes }) => [text.slice(start, end), phonemes])).toEqual([
      ['in der', 'ɪndɾ'],
      ['Stadt', 'ʃtˈat'],
      [',', ','],
      ['drei', 'dɾˈaɪ'],
      ['Uhr', 'ˈuːɾ'],
      ['!', '!'],
      ['A', 'ɛɪ bˈeː'],
    ]);
  });

  test('given phonemes replace a word', () => {
    const given = [{ from: 5, to: 8, phonemes: 'uːɐ' }];
    expect(toEspeakWords('drei Uhr', given, () => 'dɾˈaɪ').map(({ phonemes }) => phonemes)).toEqual(['dɾˈaɪ', 'uːɐ']);
  });

  test('letters are decomposed', () => {
    expect(toLetterWords('É, ja').map(({ phonemes }) => phonemes)).toEqual(['É'.normalize('NFD'), ',', 'ja']);
  });
});

describe('the file of a voice', () => {
  const ids = { _: [0], '^': [1], $: [2], a: [3], ɪ: [4], aɪ: [5], b: [6] };
  const config = { audio: { sample_rate: 16_000 }, espeak: { voice: 'de' }, phoneme_id_map: ids };
  const read = (changed: object = {}) => readPiperConfig(JSON.stringify({ ...config, ...changed }));

  test('gives the numbers of sounds, and where each phoneme begins', () => {
    expect(read().toIds([...'aɪ?B'])).toEqual({ ids: [1, 0, 3, 0, 4, 0, 6, 0, 2], places: [2, 4, 6, 6, 8] });
    const clustered = read({ vowel_clusters: [['a', 'ɪ']] });
    expect(clustered.toIds([...'aɪb'])).toEqual({ ids: [1, 0, 5, 0, 6, 0, 2], places: [2, 4, 4, 6] });
  });

  test('decides how its phonemes are made', () => {
    expect(read().reading).toEqual({ by: 'espeak', voice: 'de' });
    expect(read({ espeak: { voice: 'en-us' } }).reading).toEqual({ by: 'english', accent: 'US', notation: 'piper' });
    expect(read({ phoneme_type: 'text' }).reading).toEqual({ by: 'letters' });
  });

  test('names its speakers', () => {
    const speakers = { num_speakers: 2, speaker_id_map: { 'p 1': 0, p2: 1 } };
    expect([...read(speakers).speakers]).toEqual([
      ['0', 0],
      ['p2', 1],
    ]);
    expect(read({ language: { code: 'pt_BR' } }).languageCode).toBe('pt-BR');
  });

  test.each([
    [{ audio: {} }, /sample_rate/],
    [{ phoneme_id_map: { a: [1] } }, /lacks the phoneme "_"/],
    [{ phoneme_id_map: { ...ids, c: ['x'] } }, /list of numbers/],
    [{ espeak: { voice: '../x' }, language: { code: 'de' } }, /name of a language/],
    [{ num_speakers: 1e9 }, /number of speakers/],
    [{ phoneme_type: 'pinyin' }, /phoneme_type "pinyin"/],
  ])('is refused with the reason: %j', (changed, reason) => {
    expect(() => read(changed)).toThrow(reason);
  });
});
