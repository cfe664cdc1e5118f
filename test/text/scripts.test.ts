// Tests the detected scripts of a text, and whether a language can handle them.
import { expect, test } from 'vitest';
import { inspectScripts } from '../../src/text/scripts.ts';

test.each([
  ['Hello, world 123', 'en-US', true, [], false],
  ['Привет, как дела?', 'en-US', true, ['Cyrillic'], true],
  ['The word Москва means Moscow.', 'en', true, ['Cyrillic'], false],
  ['Hello 你好 안녕하세요', 'en', true, ['Hangul', 'Han'], true],
  ['東京タワーはたかい API です', 'ja', true, [], false],
  ['서울 漢字', 'ko-KR', true, [], false],
  ['你好ㄅㄆ', 'zh-TW', true, [], false],
  ['你好', 'zh', true, [], false],
  ['こんにちは', 'zh-CN', true, ['Hiragana'], true],
  ['API и HTTP протокол', 'ru', true, [], false],
  ['Only Latin letters', 'ru', true, [], false],
  ['здраво', 'sr', true, [], false],
  ['नमस्ते', 'hi', true, [], false],
  ['नमस्ते world', 'en', true, ['Devanagari'], false],
  ['12 345 ½', 'en', true, [], false],
  ['١٢٣', 'en', true, [], false],
  ['😀 ... !!! → $', 'en', false, [], false],
  ['', 'en', false, [], false],
  ['α particle', 'en', true, ['Greek'], false],
  ['𐎀𐎁𐎂', 'en', true, ['Other'], true],
  ['ᚠᚢᚦ', 'en', true, ['Runic'], true],
  ['\ud800', 'en', false, [], false],
] as const)('%s in %s', (text, languageCode, speakable, foreign, mostlyForeign) => {
  expect(inspectScripts(text, languageCode)).toEqual({ speakable, foreign, mostlyForeign });
});
