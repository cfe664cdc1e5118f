// Lists the requirements of SSML 1.1 for elements that change the voice or its style, for pauses, marks and recorded
// audio: the rows of sections 3.2 to 3.4 in ssml-requirements.ts.

export interface Requirement {
  section: string;
  requirement: string;
  /** A whole document if it begins with "<", otherwise the content of a document. */
  document: string;
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

export const plain = 'Take a ripe tomato now.';
export const words = 'Take a ripe tomato now';
export const style: readonly Requirement[] = [
  {
    section: '3.2.1',
    requirement: 'another voice is heard, and the first one again after it',
    document: 'Take a <voice name="OTHER">ripe tomato</voice> now.',
    words,
    marks: ['voice OTHER', 'voice OWN'],
  },
  {
    section: '3.2.1',
    requirement: 'of several names the first that there is, is heard',
    document: 'Take a <voice name="nobody OTHER">ripe tomato</voice> now.',
    words,
    marks: ['voice OTHER', 'voice OWN'],
  },
  {
    section: '3.2.1',
    requirement: 'voices are nested',
    document: '<voice name="OTHER">Take a <voice name="OWN">ripe</voice> tomato now.</voice>',
    words,
    marks: ['voice OTHER', 'voice OWN', 'voice OTHER'],
  },
  {
    section: '3.2.1',
    requirement: 'a voice that there is not is an error',
    document: 'Take <voice name="nobody">a tomato</voice>',
    refused: /no voice nobody exists/,
  },
  {
    section: '3.2.1',
    requirement: 'a voice without a name stays the same',
    document: 'Take a <voice gender="female">ripe</voice> tomato now.',
    words,
    marks: [],
    warnings: ['ignored:voice.gender', 'ignored:voice'],
    beside: ['same', plain],
  },
  ...['strong', 'moderate', 'reduced', 'none'].map(
    (level): Requirement => ({
      section: '3.2.2',
      requirement: `emphasis that is ${level} changes no word`,
      ...(level !== 'none' && { untimedWarnings: ['ignored:emphasis'] }),
      document: `Take a <emphasis level="${level}">ripe</emphasis> tomato now.`,
      words,
      beside: ['same', plain],
    }),
  ),
  {
    section: '3.2.2',
    requirement: 'a level that is not known has no effect',
    document: 'Take a <emphasis level="huge">ripe</emphasis> tomato now.',
    words,
    warnings: ['ignored:emphasis.level'],
    beside: ['same', plain],
  },
  {
    section: '3.2.3',
    requirement: 'a break lasts as long as it says',
    document: 'Take a ripe<break time="3s"/> tomato now.',
    words,
    beside: [2000, 'Take a ripe<break time="1000ms"/> tomato now.'],
  },
  ...(['x-weak', 'weak', 'medium', 'strong'] as const).map(
    (strength, i): Requirement => ({
      section: '3.2.3',
      requirement: `a break that is ${strength} is shorter than one that is stronger`,
      document: `Take a ripe <break strength="${strength}"/> tomato now.`,
      words,
      beside: ['shorter', `Take a ripe <break strength="${['weak', 'medium', 'strong', 'x-strong'][i]}"/> tomato now.`],
    }),
  ),
  {
    section: '3.2.3',
    requirement: 'a break that says nothing is medium',
    document: 'Take a ripe <break/> tomato now.',
    words,
    beside: ['same', 'Take a ripe <break strength="medium"/> tomato now.'],
  },
  {
    section: '3.2.3',
    requirement: 'the time of a break goes before its strength',
    document: 'Take a ripe <break time="900ms" strength="weak"/> tomato now.',
    words,
    beside: ['same', 'Take a ripe <break time="900ms"/> tomato now.'],
  },
  {
    section: '3.2.3',
    requirement: 'a break that is none is none',
    document: 'Take a ripe <break strength="none"/>tomato now.',
    words,
    beside: ['same', plain],
  },
  ...(['x-fast', 'fast', 'medium', 'slow'] as const).map(
    (rate, i): Requirement => ({
      section: '3.2.4',
      requirement: `speech that is ${rate} is shorter than slower speech`,
      document: `<prosody rate="${rate}">Take a ripe tomato now.</prosody>`,
      words,
      beside: [
        'shorter',
        `<prosody rate="${['fast', 'medium', 'slow', 'x-slow'][i]}">Take a ripe tomato now.</prosody>`,
      ],
    }),
  ),
  {
    section: '3.2.4',
    requirement: 'the default rate changes nothing',
    document: '<prosody rate="default">Take a ripe tomato now.</prosody>',
    words,
    beside: ['same', plain],
  },
  {
    section: '3.2.4',
    requirement: 'rates multiply where they are nested',
    document: '<prosody rate="50%"><prosody rate="200%">Take a ripe tomato now.</prosody></prosody>',
    words,
    beside: ['same', plain],
  },
  {
    section: '3.2.4',
    requirement: 'silent speech lasts as long as any',
    document: '<prosody volume="silent">Take a ripe tomato now.</prosody>',
    words,
  },
  {
    section: '3.2.4',
    requirement: 'a contour is told, and the text is heard',
    document: '<prosody contour="(0%,+20Hz)">Take a ripe tomato now.</prosody>',
    words,
    warnings: ['ignored:prosody.contour'],
    beside: ['same', plain],
  },
  {
    section: '3.2.4',
    requirement: 'a value that is not known has no effect',
    document: '<prosody rate="rather quick">Take a ripe tomato now.</prosody>',
    words,
    warnings: ['ignored:prosody.rate'],
    beside: ['same', plain],
  },
  {
    section: '3.3.1',
    requirement: 'of sound that is not played, what stands in its place is heard, and not its description',
    document: 'Take a <audio src="http://localhost/x.wav"><desc>a bell</desc>ripe tomato</audio> now.',
    words,
    warnings: ['ignored:audio'],
    beside: ['same', plain],
  },
  {
    section: '3.3.2',
    requirement: 'a mark is told, and not heard',
    document: 'Take a <mark name="here"/>ripe tomato now.',
    words,
    marks: ['mark here'],
    beside: ['same', plain],
  },
  {
    section: '3.3.2',
    requirement: 'marks are told in their order, also at the ends',
    document: '<mark name="a"/>Take a ripe <mark name="b"/><mark name="c"/>tomato now.<mark name="d"/>',
    words,
    marks: ['mark a', 'mark b', 'mark c', 'mark d'],
    beside: ['same', plain],
  },
  {
    section: '3.4',
    requirement: 'an element that is not known is told, and what is in it is heard',
    document: 'Take a <own:loud xmlns:own="urn:x">ripe</own:loud> tomato now.',
    words,
    warnings: ['ignored:own:loud'],
    beside: ['same', plain],
  },
];
