// Tests the table of eSpeak NG's voices.
import { describe, expect, test } from 'vitest';
import { parseEspeakVoices } from '../../src/engines/espeak-ng/espeak-voices.ts';

const header = 'Pty Language       Age/Gender VoiceName          File                 Other Languages';
const table = (...rows: string[]): string => [header, ...rows, ''].join('\n');

describe('the table of voices', () => {
  test('gives each language a voice with canonical tags and a name for people', () => {
    const voices = parseEspeakVoices(
      table(
        ' 5  cmn             --/M      Chinese_(Mandarin) sit/cmn              (zh-cmn 5)(zh 5)',
        ' 5  en-gb-x-rp      --/M      English_(Received_Pronunciation) gmw/en-GB-x-rp       (en-gb 4)(en 5)',
        ' 5  en-us-nyc       --/M      English_(America,_New_York_City) gmw/en-US-nyc        ',
        ' 5  pt-br           --/F      Portuguese_(Brazil) roa/pt-BR            (pt 6)',
        ' 5  sjn             --/M      Sindarin           art/sjn              ',
      ),
    );
    expect(voices.map(({ voiceId, name, languageCodes }) => [voiceId, name, languageCodes])).toEqual([
      ['espeak-cmn', 'Chinese (eSpeak NG)', ['zh']],
      ['espeak-en-gb-x-rp', 'English (Received Pronunciation) (eSpeak NG)', ['en-GB-x-rp', 'en', 'en-GB']],
      ['espeak-en-us-nyc', 'English (America, New York City) (eSpeak NG)', ['en-US-x-nyc', 'en']],
      ['espeak-pt-br', 'Portuguese (Brazil) (eSpeak NG)', ['pt-BR', 'pt']],
      ['espeak-sjn', 'Sindarin (eSpeak NG)', ['sjn']],
    ]);
    expect(voices.map(({ labels }) => labels.gender)).toEqual(['male', 'male', 'male', 'female', 'male']);
  });

  test('leaves out second voices of a language, what has no tag, and what is no row', () => {
    const rows = [
      ' 5  yue  --/M  Chinese_(Cantonese)  sit/yue  (zh 8)',
      ' 5  yue  --/M  Chinese_(Jyutping)  sit/yue-Latn-jyutping',
      ' 5  piqd  --/M  Klingon  art/piqd',
      ' 5  de  --/M  german-mbrola  mb/mb-de1',
      ' 5  --help  --/M  Option  gmw/en',
      ' 5  fr  --/M  Escape  ../../etc/passwd',
      'espeak-ng: something is wrong with the data',
      '\0\u001b[31m',
    ];
    expect(parseEspeakVoices(table(...rows)).map(({ file }) => file)).toEqual(['sit/yue']);
    expect(parseEspeakVoices('')).toEqual([]);
  });
});
