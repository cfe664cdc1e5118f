// Lists the requirements of SSML 1.1 for a processor, by the sections of https://www.w3.org/TR/speech-synthesis11/, if
// they are audible and need no fetching: documents, and the expected result with any voice.
import { plain, type Requirement, style, words } from './ssml-style-requirements.ts';

const head =
  '<?xml version="1.0" encoding="UTF-8"?>\n<!-- a comment -->\n<speak version="1.1" xml:lang="en" ' +
  'xmlns="http://www.w3.org/2001/10/synthesis" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ' +
  'xsi:schemaLocation="http://www.w3.org/2001/10/synthesis http://www.w3.org/TR/speech-synthesis11/synthesis.xsd">';

const structure: readonly Requirement[] = [
  {
    section: '2',
    requirement: 'a document with a declaration, a namespace and a schema is its text',
    document: `${head}${plain}</speak>`,
    words,
    beside: ['same', plain],
  },
  {
    section: '2',
    requirement: 'comments and processing instructions are not heard',
    document: 'Take a <!-- not --> ripe <?pi no?>tomato now.',
    words,
    beside: ['same', plain],
  },
  {
    section: '2',
    requirement: 'character data is text',
    document: 'Take a <![CDATA[ripe tomato]]> now.',
    words,
    beside: ['same', plain],
  },
  {
    section: '2',
    requirement: 'references to characters are these characters',
    document: 'Take a &#114;ipe &#x74;omato now.',
    words,
    beside: ['same', plain],
  },
  {
    section: '2',
    requirement: 'white space is no more than a space',
    document: 'Take\n\n   a ripe\ttomato\n now.',
    words,
    beside: ['same', plain],
  },
  {
    section: '2',
    requirement: 'a document that is not well-formed is an error',
    document: 'Take <p>a ripe tomato',
    refused: /line 1, column \d+/,
  },
  {
    section: '2',
    requirement: 'the element of a document is speak',
    document: '<talk>Take a ripe tomato.</talk>',
    refused: /must be a speak element/,
  },
  {
    section: '3.1.2',
    requirement: 'the language of an element ends with it',
    document: 'Take a <s xml:lang="en">ripe</s> tomato now.',
    words,
  },
  {
    section: '3.1.2',
    requirement: 'what is no language tag has no effect',
    document: '<p xml:lang="not a tag">Take a ripe tomato now.</p>',
    words,
    warnings: ['ignored:p.xml:lang'],
  },
  {
    section: '3.1.5',
    requirement: 'a lexicon that is not loaded is told, and the rest is heard',
    document: '<lexicon uri="http://localhost/x.pls" xml:id="x"/>Take a ripe tomato now.',
    words,
    warnings: ['ignored:lexicon'],
    beside: ['same', plain],
  },
  {
    section: '3.1.6',
    requirement: 'meta is not heard',
    document: '<meta name="seeAlso" content="http://localhost/"/>Take a ripe tomato now.',
    words,
    beside: ['same', plain],
  },
  {
    section: '3.1.7',
    requirement: 'metadata is not heard',
    document: '<metadata><x>Not to be heard.</x></metadata>Take a ripe tomato now.',
    words,
    beside: ['same', plain],
  },
  {
    section: '3.1.8.1',
    requirement: 'a paragraph is heard by itself, without a full stop',
    document: '<p>Take a ripe</p><p>tomato now</p>',
    words,
    beside: ['longer', 'Take a ripe tomato now'],
    needsBreath: true,
  },
  {
    section: '3.1.8.1',
    requirement: 'a sentence is heard by itself, without a full stop',
    document: '<s>Take a ripe</s><s>tomato now</s>',
    words,
    beside: ['longer', 'Take a ripe tomato now'],
    needsBreath: true,
  },
  {
    section: '3.1.8.1',
    requirement: 'sentences in paragraphs are those without',
    document: '<p><s>Take a ripe tomato.</s><s>Eat it now.</s></p>',
    words: 'Take a ripe tomato Eat it now',
  },
  {
    section: '3.1.8.2',
    requirement: 'token and w are words',
    document: 'Take a <token>ripe</token> <w role="x:y">tomato</w> now.',
    words,
    warnings: ['ignored:w.role'],
    beside: ['same', plain],
  },
];

const pronunciation: readonly Requirement[] = [
  {
    section: '3.1.9',
    requirement: 'what is no kind of text is said as it is written',
    document: 'Take a <say-as interpret-as="my:own">ripe</say-as> tomato now.',
    words,
    warnings: ['ignored:say-as'],
    beside: ['same', plain],
  },
  {
    section: '3.1.9',
    requirement: 'characters are said one by one',
    document: 'Take a ripe <say-as interpret-as="characters">tomato</say-as> now.',
    words,
    beside: ['longer', plain],
  },
  {
    section: '3.1.9',
    requirement: 'digits are said one by one',
    document: 'Take <say-as interpret-as="digits">11</say-as> now.',
    words: 'Take 11 now',
    beside: ['same', 'Take one one now.'],
  },
  {
    section: '3.1.9',
    requirement: 'an ordinal is said as one',
    document: 'Take the <say-as interpret-as="ordinal">3</say-as> tomato now.',
    words: 'Take the 3 tomato now',
    beside: ['same', 'Take the third tomato now.'],
  },
  {
    section: '3.1.9',
    requirement: 'say-as without its attribute has no effect',
    document: 'Take a <say-as>ripe</say-as> tomato now.',
    words,
    warnings: ['ignored:say-as'],
    beside: ['same', plain],
  },
  {
    section: '3.1.10',
    requirement: 'an alphabet that is not known has no effect',
    document: 'Take a ripe <phoneme alphabet="x-own" ph="abc">tomato</phoneme> now.',
    words,
    warnings: ['ignored:phoneme'],
    beside: ['same', plain],
  },
  {
    section: '3.1.11',
    requirement: 'the alias is heard in place of the text',
    document: 'Take a ripe <sub alias="potato and an onion">tomato</sub> now.',
    words,
    beside: ['same', 'Take a ripe potato and an onion now.'],
  },
  {
    section: '3.1.11',
    requirement: 'an alias in place of no text is heard',
    document: 'Take a ripe <sub alias="tomato"></sub> now.',
    beside: ['same', plain],
  },
  {
    section: '3.1.12',
    requirement: 'a change of language is no change of voice',
    document: 'Take a <lang xml:lang="en">ripe</lang> tomato now.',
    words,
    marks: [],
  },
  {
    section: '3.1.12',
    requirement: 'a language that the voice does not speak is heard in its own',
    document: 'Take a <lang xml:lang="sw" onlangfailure="ignorelang">ripe</lang> tomato now.',
    words,
    warnings: ['ignored:lang'],
    beside: ['same', plain],
  },
];

export const requirements: readonly Requirement[] = [...structure, ...pronunciation, ...style];
