// The schemas of jobs: the body that makes one, and the job itself.
import { failureTable } from '../../errors.ts';
import { jobStatuses } from '../../jobs/job.ts';
import { jobSpeechNames } from '../../jobs/job-request.ts';
import {
  chapterGapSeconds,
  chapterTitleCharsMax,
  coverBytesMax,
  jobChaptersMax,
  jobCharsMax,
  jobKeepHoursMax,
  metadataMax,
  ssmlCharsMax,
} from '../../jobs/limits.ts';
import { captionKinds, speechFieldRows, speechFields } from '../../speech/fields.ts';
import { webhookUrlCharsMax } from '../../webhooks/webhook.ts';
import { describeObject, nullableText, nullableTime, objectSchema, type Schema, text, whole } from '../route-docs.ts';

const isOfJob = ({ json }: { json: string }) => (jobSpeechNames as readonly string[]).includes(json);
const speechSchemas = Object.fromEntries(speechFieldRows.filter(isOfJob).map(({ json, schema }) => [json, schema]));

const metadataSchema: Schema = {
  type: 'object',
  maxProperties: metadataMax.entries,
  additionalProperties: { type: 'string', maxLength: metadataMax.valueChars },
  description:
    'Strings that come back with the job. `title`, `author`, `narrator`, `publisher` and `date` also stand in the file.',
};

const newChapterSchema: Schema = {
  title: 'NewChapter',
  type: 'object',
  properties: {
    title: text('Title, for the chapter mark.', { maxLength: chapterTitleCharsMax }),
    text: text('Text to speak, not blank: required unless there is `ssml`.'),
    ssml: text(
      `An SSML 1.1 document to speak, in place of \`text\`: at most ${ssmlCharsMax} code points that are said.`,
    ),
    voice_id: { ...speechFields.voiceId.schema, description: 'Id or alias of the voice, if not that of the job.' },
    language_code: text('Language of the text, if not that of the job.'),
  },
};

export const newJobSchema: Schema = {
  title: 'NewJob',
  type: 'object',
  required: ['voice_id'],
  properties: {
    ...speechSchemas,
    chapters: {
      type: 'array',
      items: newChapterSchema,
      minItems: 1,
      maxItems: jobChaptersMax,
      description: `The chapters, together at most ${jobCharsMax} Unicode code points.`,
    },
    text: text('In place of chapters, one text.'),
    ssml: text(
      `In place of chapters and of \`text\`, one SSML 1.1 document: at most ${ssmlCharsMax} code points that are said.`,
    ),
    chapter_gap_seconds: {
      type: 'number',
      minimum: 0,
      maximum: chapterGapSeconds.max,
      default: chapterGapSeconds.fallback,
      description: 'Silence between two chapters.',
    },
    webhook_url: text('Where to tell the end of the job.', { format: 'uri', maxLength: webhookUrlCharsMax }),
    keep_hours: {
      type: 'number',
      minimum: 1,
      maximum: jobKeepHoursMax,
      description: 'How long the job and its audio are kept after its end. Default: as long as other audio.',
    },
    metadata: metadataSchema,
    cover: text(`A picture for the file: base64 of a JPEG or PNG of at most ${coverBytesMax} bytes.`, {
      contentEncoding: 'base64',
    }),
  },
};

export const exampleNewJob = {
  voice_id: 'clara',
  chapters: [
    { title: 'Introduction', text: 'When on board H.M.S. Beagle, as naturalist, I was much struck …' },
    { title: 'Variation under Domestication', text: 'When we look to the individuals of the same variety …' },
  ],
  output_format: 'mp3',
  captions: ['vtt'],
  metadata: { title: 'On the Origin of Species', author: 'Charles Darwin' },
};

const number = (description: string): Schema => ({ type: 'number', minimum: 0, description });
const nullableNumber = (description: string): Schema => ({ type: ['number', 'null'], minimum: 0, description });
const nullableWhole = (description: string): Schema => ({ type: ['integer', 'null'], minimum: 0, description });

const progress = describeObject(
  'JobProgress',
  {
    chars: [whole('Unicode code points of the text that are said.'), 130],
    chars_done: [whole('Of them, those that are spoken.'), 65],
    chapters_done: [whole('Chapters that are done.'), 1],
    seconds: [number('Duration of the sound so far.'), 4.6],
    eta_seconds: [nullableNumber('Seconds until its end, at the rate so far; null while nothing is known.'), 3],
  },
  'How far it is.',
);
const chapter = describeObject('JobChapter', {
  title: [text('Its title, as it was sent.'), 'Introduction'],
  voice_id: [text('Id of its voice.'), 'clara'],
  chars: [whole('Unicode code points of the text that are said.'), 65],
  chars_done: [whole('Of them, those that are spoken.'), 65],
  start: [nullableNumber('Where it begins in the whole, in seconds; null until it and those before it are done.'), 0],
  end: [nullableNumber('Where its sound ends in the whole, likewise.'), 4.6],
  audio_url: [
    nullableText('URL of its own file; null until it is done.'),
    'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.mp3',
  ],
});
const error = objectSchema(
  'JobError',
  {
    error: text('The failure reason, as in error responses.', { enum: Object.keys(failureTable) }),
    message: text('What happened.'),
    chapter: nullableWhole('Index of the chapter that could not be spoken, from 0.'),
    offset: nullableWhole('Where the sentence begins in the text of the chapter, in code points.'),
    text: nullableText('The sentence, or its first 200 characters.'),
  },
  'Why it has failed; null where it has not.',
);
const usage = describeObject(
  'JobUsage',
  {
    characters: [whole('Unicode code points.'), 65],
    audio_seconds: [number('Duration of the sound.'), 4.6],
  },
  'What was charged so far.',
);

export const job = describeObject(
  'Job',
  {
    id: [text('Its id.'), 'origin-of-species'],
    status: [text('Where it is in its life.', { enum: [...jobStatuses] }), 'running'],
    voice_id: [text('Its voice, as it was sent.'), 'clara'],
    output_format: [text('Encoding of its audio.'), 'mp3'],
    sample_rate: [whole('Sample rate in hertz.'), 44_100],
    created_at: [
      { type: 'string', format: 'date-time', description: 'When it was created.' },
      '2030-01-02T03:04:05.000Z',
    ],
    started_at: [nullableTime('When it began to be spoken.'), '2030-01-02T03:04:06.000Z'],
    ended_at: [nullableTime('When it ended.'), null],
    expires_at: [nullableTime('When it is deleted, with its audio.'), null],
    metadata: [
      { type: 'object', additionalProperties: { type: 'string' }, description: 'As it was sent.' },
      { title: 'On the Origin of Species', author: 'Charles Darwin' },
    ],
    progress: [progress.schema, progress.example],
    chapters: [
      { type: 'array', items: chapter.schema, description: 'Its chapters.' },
      [
        chapter.example,
        {
          ...chapter.example,
          title: 'Variation under Domestication',
          chars_done: 0,
          start: null,
          end: null,
          audio_url: null,
        },
      ],
    ],
    audio_url: [nullableText('URL of the whole; null until it has succeeded.'), null],
    captions: [
      {
        type: 'object',
        properties: Object.fromEntries(captionKinds.map((kind) => [kind, text('URL of the captions of the whole.')])),
        description: 'Captions of the whole, of the kinds that were asked for.',
      },
      {},
    ],
    error: [{ ...error, type: ['object', 'null'] }, null],
    usage: [usage.schema, usage.example],
  },
  'A job, as it is.',
);

const event = (title: string, type: string, more: Readonly<Record<string, Schema>> = {}): Schema =>
  objectSchema(title, {
    type: { type: 'string', const: type },
    ...more,
    job: { ...job.schema, description: 'The job as it is.' },
  });

export const jobEventSchema: Schema = {
  title: 'JobEvent',
  description: 'The data of an event.',
  oneOf: [
    event('JobProgressEvent', 'job.progress'),
    event('JobChapterDoneEvent', 'job.chapter.done', { chapter: whole('Index of the chapter, from 0.') }),
    event('JobDoneEvent', 'job.done'),
    event('JobErrorEvent', 'error'),
    objectSchema('JobEventsEndedEvent', {
      type: { type: 'string', const: 'error' },
      error: text('Why the events end before the job does, as in Failure: it was deleted, or the key ended.'),
      message: text('A description of it.'),
      status: whole('The equivalent HTTP status.'),
      retryable: { type: 'boolean', const: false, description: 'The same request fails again.' },
      request_id: text('Include it when you contact the operator.'),
    }),
  ],
};

export const exampleDoneJob = {
  ...job.example,
  status: 'succeeded',
  ended_at: '2030-01-02T03:04:09.000Z',
  expires_at: '2030-01-03T03:04:09.000Z',
  progress: { chars: 130, chars_done: 130, chapters_done: 2, seconds: 11.2, eta_seconds: null },
  chapters: [chapter.example, { ...chapter.example, title: 'Variation under Domestication', start: 6.6, end: 11.2 }],
  audio_url: 'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F7K.mp3',
  captions: { vtt: 'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F7K.vtt' },
  usage: { characters: 130, audio_seconds: 11.2 },
};
