// Tests the requirements of SSML 1.1, with an embedded voice, eSpeak NG if it is installed, and the tone engine.
import { afterAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { openEspeakNg } from '../../src/engines/espeak-ng/espeak-ng.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { Failure } from '../../src/platform/errors.ts';
import { openTone } from '../engines/tone-engine.ts';
import { isInstalled } from '../programs.ts';
import { speechOf } from './open-speech.ts';

const espeak = isInstalled('espeak-ng') ? await openEspeakNg() : undefined;
const engines: Engine[] = [await openFlite({ threads: 1 }), openTone(), ...(espeak ? [espeak] : [])];
const { stream } = speechOf(engines);
afterAll(async () => {
  for (const engine of engines) await engine.close();
});
const voicePairs = [
  ['clara', 'tone-low'],
  ['tone-low', 'clara'],
  ...(espeak ? [['espeak-en-us', 'clara'] as const] : []),
] as const;
/** Two documents with the same audio may differ in length by the silence trimmed at the ends of segments. */
const sameSeconds = 0.03;

const hasTimes = (voiceId: string): boolean =>
  engines.some(({ capabilities, voices }) => capabilities.timings && voices.some((voice) => voice.voiceId === voiceId));

interface Heard {
  seconds: number;
  words: string[];
  marks: string[];
  warnings: readonly string[];
}

async function speak(voiceId: string, other: string, document: string): Promise<Heard> {
  const isWhole = /^<(?:\?xml|speak|talk)/.test(document);
  const named = document.replaceAll('OTHER', other).replaceAll('OWN', voiceId);
  const ssml = isWhole ? named : `<speak version="1.1" xml:lang="en">${named}</speak>`;
  const fields = { voice_id: voiceId, language_code: 'en', output_format: 'pcm', timestamps: 'word', ssml };
  const heard: Heard = { seconds: 0, words: [], marks: [], warnings: [] };
  for await (const event of stream(fields)) {
    if (event.type === 'info') heard.warnings = event.warnings;
    else if (event.type === 'timestamps') heard.words.push(...event.words.map(({ text }) => text));
    else if (event.type === 'mark') heard.marks.push(`${event.kind} ${event.name}`);
    else if (event.type === 'done') heard.seconds = event.seconds;
  }
  return heard;
}

/** A requirement that is audible and needs no fetching, and its section in https://www.w3.org/TR/speech-synthesis11/. */
type Requirement = readonly [section: string, requirement: string, document: string, expected: Expected];

/** What is expected of a document with any voice. A document that begins with "<speak" or a declaration is whole. */
interface Expected {
  /** The words in spoken order, as written. */
  words?: string;
  /** Marks and changes of voice, in order. */
  marks?: readonly string[];
  /** Expected warnings. Default: none. */
  warnings?: readonly string[];
  /** Additional warnings if the engine reports no word times. */
  untimedWarnings?: readonly string[];
  /**
   * Length of the audio, compared with that of another document: same, longer, shorter, or longer by this many
   * milliseconds.
   */
  beside?: readonly [relation: 'same' | 'longer' | 'shorter' | number, document: string];
  /** Whether the requirement only applies to engines that pause between sentences, which the tone engine does not. */
  needsBreath?: boolean;
  /** The reason for refusing the document. */
  refused?: RegExp;
}

const plain = 'Take a ripe tomato now.';
const words = 'Take a ripe tomato now';
const asPlain: Expected = { words, beside: ['same', plain] };
const head =
  '<?xml version="1.0" encoding="UTF-8"?>\n<!-- a comment -->\n<speak version="1.1" xml:lang="en" ' +
  'xmlns="http://www.w3.org/2001/10/synthesis" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ' +
  'xsi:schemaLocation="http://www.w3.org/2001/10/synthesis http://www.w3.org/TR/speech-synthesis11/synthesis.xsd">';

const requirements: readonly Requirement[] = [
  ['2', 'a document with a declaration, a namespace and a schema is its text', `${head}${plain}</speak>`, asPlain],
  ['2', 'comments and processing instructions are not heard', 'Take a <!-- not --> ripe <?pi no?>tomato now.', asPlain],
  ['2', 'character data is text', 'Take a <![CDATA[ripe tomato]]> now.', asPlain],
  ['2', 'references to characters are these characters', 'Take a &#114;ipe &#x74;omato now.', asPlain],
  ['2', 'white space is no more than a space', 'Take\n\n   a ripe\ttomato\n now.', asPlain],
  ['2', 'a document that is not well-formed is an error', 'Take <p>a ripe tomato', { refused: /line 1, column \d+/ }],
  [
    '2',
    'the element of a document is speak',
    '<talk>Take a ripe tomato.</talk>',
    { refused: /must be a speak element/ },
  ],
  ['3.1.2', 'the language of an element ends with it', 'Take a <s xml:lang="en">ripe</s> tomato now.', { words }],
  [
    '3.1.2',
    'what is no language tag has no effect',
    '<p xml:lang="not a tag">Take a ripe tomato now.</p>',
    { words, warnings: ['ignored:p.xml:lang'] },
  ],
  [
    '3.1.5',
    'a lexicon that is not loaded is told, and the rest is heard',
    '<lexicon uri="http://localhost/x.pls" xml:id="x"/>Take a ripe tomato now.',
    { ...asPlain, warnings: ['ignored:lexicon'] },
  ],
  ['3.1.6', 'meta is not heard', '<meta name="seeAlso" content="http://localhost/"/>Take a ripe tomato now.', asPlain],
  ['3.1.7', 'metadata is not heard', '<metadata><x>Not to be heard.</x></metadata>Take a ripe tomato now.', asPlain],
  [
    '3.1.8.1',
    'a paragraph is heard by itself, without a full stop',
    '<p>Take a ripe</p><p>tomato now</p>',
    { words, beside: ['longer', 'Take a ripe tomato now'], needsBreath: true },
  ],
  [
    '3.1.8.1',
    'a sentence is heard by itself, without a full stop',
    '<s>Take a ripe</s><s>tomato now</s>',
    { words, beside: ['longer', 'Take a ripe tomato now'], needsBreath: true },
  ],
  [
    '3.1.8.1',
    'sentences in paragraphs are those without',
    '<p><s>Take a ripe tomato.</s><s>Eat it now.</s></p>',
    { words: 'Take a ripe tomato Eat it now' },
  ],
  [
    '3.1.8.2',
    'token and w are words',
    'Take a <token>ripe</token> <w role="x:y">tomato</w> now.',
    { ...asPlain, warnings: ['ignored:w.role'] },
  ],
  [
    '3.1.9',
    'what is no kind of text is said as it is written',
    'Take a <say-as interpret-as="my:own">ripe</say-as> tomato now.',
    { ...asPlain, warnings: ['ignored:say-as'] },
  ],
  [
    '3.1.9',
    'characters are said one by one',
    'Take a ripe <say-as interpret-as="characters">tomato</say-as> now.',
    { words, beside: ['longer', plain] },
  ],
  [
    '3.1.9',
    'digits are said one by one',
    'Take <say-as interpret-as="digits">11</say-as> now.',
    { words: 'Take 11 now', beside: ['same', 'Take one one now.'] },
  ],
  [
    '3.1.9',
    'an ordinal is said as one',
    'Take the <say-as interpret-as="ordinal">3</say-as> tomato now.',
    { words: 'Take the 3 tomato now', beside: ['same', 'Take the third tomato now.'] },
  ],
  [
    '3.1.9',
    'say-as without its attribute has no effect',
    'Take a <say-as>ripe</say-as> tomato now.',
    { ...asPlain, warnings: ['ignored:say-as'] },
  ],
  [
    '3.1.10',
    'an alphabet that is not known has no effect',
    'Take a ripe <phoneme alphabet="x-own" ph="abc">tomato</phoneme> now.',
    { ...asPlain, warnings: ['ignored:phoneme'] },
  ],
  [
    '3.1.11',
    'the alias is heard in place of the text',
    'Take a ripe <sub alias="potato and an onion">tomato</sub> now.',
    { words, beside: ['same', 'Take a ripe potato and an onion now.'] },
  ],
  [
    '3.1.11',
    'an alias in place of no text is heard',
    'Take a ripe <sub alias="tomato"></sub> now.',
    { beside: ['same', plain] },
  ],
  [
    '3.1.12',
    'a change of language is no change of voice',
    'Take a <lang xml:lang="en">ripe</lang> tomato now.',
    { words, marks: [] },
  ],
  [
    '3.1.12',
    'a language that the voice does not speak is heard in its own',
    'Take a <lang xml:lang="sw" onlangfailure="ignorelang">ripe</lang> tomato now.',
    { ...asPlain, warnings: ['ignored:lang'] },
  ],
  [
    '3.2.1',
    'another voice is heard, and the first one again after it',
    'Take a <voice name="OTHER">ripe tomato</voice> now.',
    { words, marks: ['voice OTHER', 'voice OWN'] },
  ],
  [
    '3.2.1',
    'of several names the first that there is, is heard',
    'Take a <voice name="nobody OTHER">ripe tomato</voice> now.',
    { words, marks: ['voice OTHER', 'voice OWN'] },
  ],
  [
    '3.2.1',
    'voices are nested',
    '<voice name="OTHER">Take a <voice name="OWN">ripe</voice> tomato now.</voice>',
    { words, marks: ['voice OTHER', 'voice OWN', 'voice OTHER'] },
  ],
  [
    '3.2.1',
    'a voice that there is not is an error',
    'Take <voice name="nobody">a tomato</voice>',
    { refused: /no voice nobody exists/ },
  ],
  [
    '3.2.1',
    'a voice without a name stays the same',
    'Take a <voice gender="female">ripe</voice> tomato now.',
    { ...asPlain, marks: [], warnings: ['ignored:voice.gender', 'ignored:voice'] },
  ],
  ...['strong', 'moderate', 'reduced', 'none'].map(
    (level): Requirement => [
      '3.2.2',
      `emphasis that is ${level} changes no word`,
      `Take a <emphasis level="${level}">ripe</emphasis> tomato now.`,
      { ...asPlain, ...(level !== 'none' && { untimedWarnings: ['ignored:emphasis'] }) },
    ],
  ),
  [
    '3.2.2',
    'a level that is not known has no effect',
    'Take a <emphasis level="huge">ripe</emphasis> tomato now.',
    { ...asPlain, warnings: ['ignored:emphasis.level'] },
  ],
  [
    '3.2.3',
    'a break lasts as long as it says',
    'Take a ripe<break time="3s"/> tomato now.',
    { words, beside: [2000, 'Take a ripe<break time="1000ms"/> tomato now.'] },
  ],
  ...(['x-weak', 'weak', 'medium', 'strong'] as const).map(
    (strength, i): Requirement => [
      '3.2.3',
      `a break that is ${strength} is shorter than one that is stronger`,
      `Take a ripe <break strength="${strength}"/> tomato now.`,
      {
        words,
        beside: [
          'shorter',
          `Take a ripe <break strength="${['weak', 'medium', 'strong', 'x-strong'][i]}"/> tomato now.`,
        ],
      },
    ],
  ),
  [
    '3.2.3',
    'a break that says nothing is medium',
    'Take a ripe <break/> tomato now.',
    { words, beside: ['same', 'Take a ripe <break strength="medium"/> tomato now.'] },
  ],
  [
    '3.2.3',
    'the time of a break goes before its strength',
    'Take a ripe <break time="900ms" strength="weak"/> tomato now.',
    { words, beside: ['same', 'Take a ripe <break time="900ms"/> tomato now.'] },
  ],
  ['3.2.3', 'a break that is none is none', 'Take a ripe <break strength="none"/>tomato now.', asPlain],
  ...(['x-fast', 'fast', 'medium', 'slow'] as const).map(
    (rate, i): Requirement => [
      '3.2.4',
      `speech that is ${rate} is shorter than slower speech`,
      `<prosody rate="${rate}">${plain}</prosody>`,
      { words, beside: ['shorter', `<prosody rate="${['fast', 'medium', 'slow', 'x-slow'][i]}">${plain}</prosody>`] },
    ],
  ),
  ['3.2.4', 'the default rate changes nothing', '<prosody rate="default">Take a ripe tomato now.</prosody>', asPlain],
  [
    '3.2.4',
    'rates multiply where they are nested',
    '<prosody rate="50%"><prosody rate="200%">Take a ripe tomato now.</prosody></prosody>',
    asPlain,
  ],
  [
    '3.2.4',
    'silent speech lasts as long as any',
    '<prosody volume="silent">Take a ripe tomato now.</prosody>',
    { words },
  ],
  [
    '3.2.4',
    'a contour is told, and the text is heard',
    '<prosody contour="(0%,+20Hz)">Take a ripe tomato now.</prosody>',
    { ...asPlain, warnings: ['ignored:prosody.contour'] },
  ],
  [
    '3.2.4',
    'a value that is not known has no effect',
    '<prosody rate="rather quick">Take a ripe tomato now.</prosody>',
    { ...asPlain, warnings: ['ignored:prosody.rate'] },
  ],
  [
    '3.3.1',
    'of sound that is not played, what stands in its place is heard, and not its description',
    'Take a <audio src="http://localhost/x.wav"><desc>a bell</desc>ripe tomato</audio> now.',
    { ...asPlain, warnings: ['ignored:audio'] },
  ],
  [
    '3.3.2',
    'a mark is told, and not heard',
    'Take a <mark name="here"/>ripe tomato now.',
    { ...asPlain, marks: ['mark here'] },
  ],
  [
    '3.3.2',
    'marks are told in their order, also at the ends',
    '<mark name="a"/>Take a ripe <mark name="b"/><mark name="c"/>tomato now.<mark name="d"/>',
    { ...asPlain, marks: ['mark a', 'mark b', 'mark c', 'mark d'] },
  ],
  [
    '3.4',
    'an element that is not known is told, and what is in it is heard',
    'Take a <own:loud xmlns:own="urn:x">ripe</own:loud> tomato now.',
    { ...asPlain, warnings: ['ignored:own:loud'] },
  ],
];

describe.each(voicePairs)('by %s', (voiceId, other) => {
  test.each(requirements)('%s: %s', async (_section, _requirement, document, expected) => {
    const { words, marks, warnings = [], untimedWarnings = [], beside, refused, needsBreath } = expected;
    const hearing = speak(voiceId, other, document);
    if (refused) {
      const failure = await hearing.then(
        () => undefined,
        (error) => error as Failure,
      );
      expect(failure).toBeInstanceOf(Failure);
      expect(JSON.stringify(failure!.facts.details)).toMatch(refused);
      return;
    }
    const heard = await hearing;
    if (words) expect(heard.words.join(' ')).toBe(words);
    const expectedMarks = marks?.map((mark) => mark.replace('OTHER', other).replace('OWN', voiceId));
    if (expectedMarks) expect(heard.marks).toEqual(expectedMarks);
    const all = [...warnings, ...(hasTimes(voiceId) ? [] : untimedWarnings)];
    expect([...heard.warnings].sort()).toEqual(all.sort());
    if (!beside || (needsBreath && voiceId.startsWith('tone-'))) return;
    const [relation, document2] = beside;
    const longer = heard.seconds - (await speak(voiceId, other, document2)).seconds;
    if (relation === 'longer') expect(longer).toBeGreaterThan(sameSeconds);
    else if (relation === 'shorter') expect(longer).toBeLessThan(-sameSeconds);
    else expect(Math.abs(longer - (relation === 'same' ? 0 : relation / 1000))).toBeLessThan(sameSeconds);
  });
});

test.each(voicePairs.filter(([voiceId]) => !voiceId.startsWith('tone-')))(
  '3.1.10: the phonemes of the example in the recommendation are heard in place of the text, by %s',
  async (voiceId, other) => {
    const text = 'potato and an onion';
    const example = `<phoneme alphabet="ipa" ph="təmei̥ɾou̥">${text}</phoneme>`;
    const heard = await speak(voiceId, other, `Take a ripe ${example} now.`);
    expect(heard.warnings).toEqual([]);
    const spelled = await speak(voiceId, other, `Take a ripe ${text} now.`);
    expect(spelled.seconds - heard.seconds).toBeGreaterThan(sameSeconds);
  },
);
