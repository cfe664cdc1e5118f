// The text field of the Talk page: typed text is passed on word by word, and can then no longer be changed. Pasted text
import { element } from './element.js';

// is passed on at once, or in pieces at the pace of a language model. Enter ends the turn and clears the field.

/**
 * @typedef {object} ComposerOptions
 * @property {(text: string) => void} onText Called with further text of the turn.
 * @property {() => void} onEnd Called when the turn is over.
 * @property {() => void} onFocus
 * @property {(text: string) => void} notify
 *
 * @typedef {ReturnType<typeof createComposer>} Composer
 */

/** @param {ComposerOptions} options */
export function createComposer({ onText, onEnd, onFocus, notify }) {
  const { field, pace, paceField } = createFields();
  let sent = '';
  /** Aborts a paste that is passed on in pieces. */
  let feeding = new AbortController();

  const clear = () => {
    feeding.abort();
    field.readOnly = false;
    field.value = sent = '';
  };
  /** @param {number} length */
  const sendTo = (length) => {
    if (length <= sent.length) return;
    onText(field.value.slice(sent.length, length));
    sent = field.value.slice(0, length);
  };
  const sendComplete = () => {
    if (!field.value.startsWith(sent)) {
      field.value = sent;
      notify('Text that was sent cannot be changed.');
    }
    sendTo(sent.length + completeLength(field.value.slice(sent.length)));
  };
  const end = () => {
    sendTo(field.value.length);
    clear();
    onEnd();
  };
  /** @param {string} text */
  const feed = async (text) => {
    feeding = new AbortController();
    const { signal } = feeding;
    field.readOnly = true;
    const add = (/** @type {string} */ token) => {
      field.value += token;
      sendTo(field.value.length);
    };
    await feedTokens(text, add, signal);
    if (!signal.aborted) end();
  };

  field.addEventListener('focus', onFocus);
  field.addEventListener('input', (event) => {
    if (!(/** @type {InputEvent} */ (event).isComposing)) sendComplete();
  });
  field.addEventListener('compositionend', sendComplete);
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!field.readOnly) end();
  });
  field.addEventListener('paste', (event) => {
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (pace.value !== 'model' || text === '') return;
    event.preventDefault();
    if (!field.readOnly) void feed(text);
  });

  return {
    field,
    pace: paceField,
    end,
    clear,
    /** Whether there is text that was not sent, or whose turn was not ended. */
    get hasText() {
      return field.value !== '';
    },
  };
}

function createFields() {
  const field = element('textarea', {
    id: 'talk-text',
    rows: 4,
    placeholder: 'Type, and the voice speaks while you type',
    'aria-describedby': 'talk-help',
  });
  const pace = element(
    'select',
    { id: 'paste-pace' },
    element('option', { value: 'once' }, 'at once'),
    element('option', { value: 'model' }, 'like a language model'),
  );
  const label = element('label', { for: 'paste-pace' }, 'Pasted text arrives');
  return { field, pace, paceField: element('div', { class: 'pace' }, label, pace) };
}

// pace of a language model.

/** A word is complete before a space or a mark; text in scripts without spaces is passed on unchanged. */
const completePattern =
  /[\s.!?…,;:)\]"”。！？、，；：\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const tokenPattern = /\s*\S{1,4}|\s+$/gu;
const tokensPerSecond = 40;

/**
 * The length of the text up to the end of its last complete word.
 * @param {string} text
 */
function completeLength(text) {
  for (let end = text.length; end > 0; end--) if (completePattern.test(text.charAt(end - 1))) return end;
  return 0;
}

/**
 * Calls `onToken` with one piece after the other.
 * @param {string} text
 * @param {(token: string) => void} onToken
 * @param {AbortSignal} signal
 */
async function feedTokens(text, onToken, signal) {
  for (const [token] of text.matchAll(tokenPattern)) {
    if (signal.aborted) return;
    onToken(token);
    await new Promise((resolve) => setTimeout(resolve, 1000 / tokensPerSecond));
  }
}
