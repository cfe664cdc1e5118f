// What users bring: voices, lexicons, models, and books.

// Voices

export { openLibrary } from './library/open-library.ts';
export { breaksOf, type VoiceFields } from './library/voices/voice-fields.ts';
export type { VoiceManagement } from './library/voices/voice-management.ts';
export { textsOf } from './library/voices/voice-rows.ts';

// Lexicons

export type { StoredLexicon } from './library/lexicons/lexicon-cache.ts';
export { checkLexicon } from './library/lexicons/lexicon-fields.ts';
export type { LexiconManagement } from './library/lexicons/lexicon-management.ts';
export { writePls } from './library/lexicons/pls.ts';

// Models

export type { Progress } from './library/models/get-model.ts';
export type { InstallableModel } from './library/models/installable-models.ts';
export { type ModelFolder, openModelFolder } from './library/models/model-folder.ts';
export type { ModelInstalls } from './library/models/model-installs.ts';
export {
  firstModelOf,
  type ModelEngine,
  type ModelRow,
  modelOfVoice,
  type OfferedModel,
} from './library/models/model-table.ts';

// Books

export {
  type Book,
  type BookChapter,
  bookParts,
} from './library/books/book.ts';
export { bookTypes } from './library/books/book-kind.ts';
export { isCharset } from './library/books/decode-text.ts';
export { readBook } from './library/books/read-book.ts';
