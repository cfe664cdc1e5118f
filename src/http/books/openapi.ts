// The OpenAPI documentation of /api/books.
import { readBookOperation } from '../../api/operation.ts';
import { bookParts } from '../../books/book.ts';
import { bookTypes } from '../../books/book-kind.ts';
import { bookUploadBytesMax } from '../../books/book-limits.ts';
import {
  describeObject,
  documentOperation,
  jsonAnswer,
  nullableText,
  queryParameter,
  type RouteDocs,
  text,
  whole,
} from '../route-docs.ts';

const chapter = describeObject('BookChapter', {
  title: [text('Title.'), 'Chapter 1'],
  text: [
    text('Text, beginning with the heading; an empty line ends a paragraph.'),
    'Chapter 1\n\nThe lamp went out at nine.',
  ],
  part: [
    text('Front matter, the text itself, notes, or what follows, such as an index.', { enum: [...bookParts] }),
    'body',
  ],
  heading_level: [
    { type: ['integer', 'null'], minimum: 1, maximum: 6, description: 'Null where it has no heading of its own.' },
    2,
  ],
  chars: [whole('Length of the text in code points.'), 37],
});

const book = describeObject('Book', {
  title: [text('Title; the name of the file where the book states none.'), 'The Lighthouse Ledger'],
  author: [text('Authors, separated by commas; empty where none is stated.'), 'Mara Quill'],
  language: [nullableText('BCP 47 code of the language that the book states.'), 'en'],
  cover: [nullableText('The cover in base64, as a job takes it: JPEG or PNG, at most 1 MiB.'), null],
  metadata: [
    {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Title, author and what else the book states, as a job takes it.',
    },
    { title: 'The Lighthouse Ledger', author: 'Mara Quill' },
  ],
  chapters: [
    { type: 'array', items: chapter.schema, description: 'In reading order; notes that stand in the text are last.' },
    [chapter.example],
  ],
  warnings: [
    { type: 'array', items: { type: 'string' }, description: 'What was left out or read otherwise than stated.' },
    [],
  ],
});

const inMarkdown = '# Chapter 1\n\nThe lamp went out at nine.';
const inHtml = '<h1>Chapter 1</h1><p>The lamp went out at nine.</p>';
const examples = {
  'text/markdown': inMarkdown,
  'text/x-markdown': inMarkdown,
  'text/plain': 'Chapter 1\n\nThe lamp went out at nine.',
  'text/html': inHtml,
  'application/xhtml+xml': inHtml,
};

export const bookDocs = {
  read: {
    tag: 'Jobs',
    ...documentOperation(readBookOperation),
    summary: 'Read a book',
    description:
      'Reads plain text, Markdown, HTML or EPUB 2 and 3 into chapters that `POST /api/audio/jobs` takes, and keeps nothing. References to notes are not in the text. A book that is protected against copying is refused.',
    parameters: [
      queryParameter('name', 'Name of the file. Its extension tells the kind where the type does not.'),
      queryParameter('code', 'Whether blocks of code are read.', {
        type: 'string',
        enum: ['skip', 'read'],
        default: 'skip',
      }),
    ],
    body: {
      examples: {},
      file: {
        types: [...Object.keys(bookTypes), 'application/octet-stream'],
        description: `The file, at most ${bookUploadBytesMax >> 20} MiB.`,
        examples,
      },
    },
    answers: { 200: jsonAnswer('The book.', book.schema, book.example, ['Cache-Control']) },
    failures: ['payload_too_large', 'unsupported_media_type'],
  },
} as const satisfies Readonly<Record<string, RouteDocs>>;
