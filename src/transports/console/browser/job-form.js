// The form that creates a job from a book file. The service reads the chapters of the file. The user chooses
// chapters, a voice and a format.
/** @import { PageContext } from './page.d.ts' */
/** @import { Book, Job, Voice } from '../../../../gen/openapi.ts' */
import { element, fill } from './element.js';
import { toCount } from './formatting.js';
import { baseOf, findVoices, languagesOf } from './voice-search.js';

const formats = ['mp3', 'opus', 'wav'];
const accepted = '.epub,.txt,.md,.markdown,.html,.htm,.xhtml';

/**
 * @param {object} options
 * @param {PageContext} options.pageContext
 * @param {readonly Voice[]} options.voices
 * @param {(job: Job) => void} options.onMade
 */
export function createJobForm({ pageContext, voices, onMade }) {
  const { api, signal, notify, showError } = pageContext;
  const file = element('input', { type: 'file', id: 'book-file', accept: accepted });
  const state = element('p', { class: 'hint', role: 'status' });
  const chosen = element('div', { class: 'job-choices' });
  /** Number of files chosen so far. Results for earlier files are ignored. */
  let count = 0;

  /** @param {File} [given] */
  const choose = (given) => {
    if (!given) return;
    const own = ++count;
    fill(chosen);
    state.textContent = `Reading ${given.name} …`;
    readBook(given).then(
      (book) => own === count && showBook(book),
      (error) => {
        if (own !== count) return;
        state.textContent = '';
        showError(error);
      },
    );
  };
  file.addEventListener('change', () => choose(file.files?.[0]));
  /** @param {File} given @returns {Promise<Book>} */
  const readBook = (given) => api.requestJson('/api/books', { file: given, query: { name: given.name }, signal });
  /** @param {Book} book */
  const showBook = (book) => {
    state.textContent = [`${book.title}: ${book.chapters.length} chapters.`, ...book.warnings].join(' ');
    fill(chosen, ...choicesOf(book, voices, start));
    chosen.querySelector('select')?.focus();
  };
  /** @param {object} body */
  const start = (body) =>
    api
      .requestJson('/api/audio/jobs', { body, signal })
      .then((job) => {
        fill(chosen);
        file.value = '';
        state.textContent = '';
        notify('The job is started.');
        onMade(job);
      })
      .catch(showError);

  const drop = element(
    'div',
    {
      class: 'book-drop',
      ondragover: (/** @type {DragEvent} */ event) => event.preventDefault(),
      ondrop: (/** @type {DragEvent} */ event) => {
        event.preventDefault();
        choose(event.dataTransfer?.files[0]);
      },
    },
    element('label', { for: 'book-file' }, 'Drop a book here, or choose one: EPUB, text, Markdown or HTML'),
    file,
  );
  return element('section', { class: 'card book-form' }, element('h2', {}, 'A new job'), drop, state, chosen);
}

/**
 * @param {Book} book
 * @param {readonly Voice[]} voices
 * @param {(body: object) => Promise<void>} onStart
 */
function choicesOf(book, voices, onStart) {
  const { select: voice, query } = voiceSelect(book, voices);
  const format = element(
    'select',
    { id: 'book-format' },
    formats.map((name) => element('option', {}, name)),
  );
  const captions = element('input', { type: 'checkbox' });
  const boxes = book.chapters.map(({ part }) =>
    element('input', { type: 'checkbox', checked: part === 'body' || part === 'back', onchange: () => count() }),
  );
  const total = element('p', { class: 'hint', role: 'status' });
  const wanted = () => book.chapters.filter((_, n) => boxes[n]?.checked);
  const begin = element('button', { type: 'button', class: 'main' }, 'Start');
  const count = () => {
    const chars = wanted().reduce((sum, chapter) => sum + chapter.chars, 0);
    total.textContent = `${wanted().length} chapters, ${toCount(chars)} characters`;
    begin.disabled = wanted().length === 0;
  };
  begin.addEventListener('click', async () => {
    begin.disabled = true;
    await onStart({
      voice_id: voice.value,
      output_format: format.value,
      captions: captions.checked ? ['srt', 'vtt'] : undefined,
      metadata: book.metadata,
      cover: book.cover ?? undefined,
      chapters: wanted().map(({ title, text }) => ({ title, text })),
    });
    begin.disabled = wanted().length === 0;
  });
  count();
  return [
    chapterList(book, boxes),
    total,
    element(
      'div',
      { class: 'row' },
      element('div', { class: 'field' }, element('label', { for: 'book-voice' }, 'Voice'), query, voice),
      element('div', { class: 'field' }, element('label', { for: 'book-format' }, 'Format'), format),
      element('label', { class: 'check' }, captions, element('span', {}, 'Captions')),
      begin,
    ),
  ];
}

/**
 * Creates the voice selector with its search. Voices are grouped by language, that of the book first.
 * @param {Book} book
 * @param {readonly Voice[]} voices
 */
function voiceSelect(book, voices) {
  const own = baseOf(book.language ?? '');
  const ready = voices.filter(({ status }) => status === 'ready');
  const languages = languagesOf(ready).toSorted((one, other) => Number(other.code === own) - Number(one.code === own));
  const groups = [...languages, { code: '', name: 'Other languages' }];
  /** A voice with several languages is listed once: under the book's language, or its first. @param {Voice} voice */
  const groupOf = ({ language_codes }) => {
    const codes = language_codes.map(baseOf);
    return codes.includes(own) ? own : (codes.find((each) => languages.some(({ code }) => code === each)) ?? '');
  };
  const select = element('select', { id: 'book-voice' });
  const query = element('input', { type: 'search', 'aria-label': 'Search voices', placeholder: 'Search voices' });
  const show = () => {
    const chosen = select.value;
    const found = findVoices(ready, { query: query.value, language: '' });
    fill(
      select,
      groups.map(({ code, name }) => {
        const members = found.filter((voice) => groupOf(voice) === code);
        const options = members.map(({ voice_id, name }) => element('option', { value: voice_id }, name));
        return members.length > 0 && element('optgroup', { label: name }, options);
      }),
    );
    if (found.some(({ voice_id }) => voice_id === chosen)) select.value = chosen;
  };
  query.addEventListener('input', show);
  show();
  return { select, query };
}

const partLabels = { front: 'front matter', body: '', notes: 'notes', back: 'back matter' };

/**
 * @param {Book} book
 * @param {readonly HTMLInputElement[]} boxes One checkbox per chapter.
 */
const chapterList = ({ chapters }, boxes) =>
  element(
    'fieldset',
    { class: 'book-chapters' },
    element('legend', {}, 'Chapters'),
    chapters.map(({ title, chars, part }, n) => {
      const facts = [partLabels[part], `${toCount(chars)} characters`].filter(Boolean).join(', ');
      return element(
        'label',
        { class: 'check' },
        boxes[n],
        element('span', {}, title, ' ', element('small', {}, facts)),
      );
    }),
  );
