// A textarea that highlights the word being spoken. A transparent copy of the text under the textarea gives the
// position of the word. The field grows with its text up to the height in the style sheet.
import { element } from './element.js';
/** @import { Word } from './speech-stream.js' */

/** @typedef {ReturnType<typeof createHighlightedText>} HighlightedText */

/** @param {Record<string, string | number>} attributes Attributes of the textarea. */
export function createHighlightedText(attributes) {
  const field = element('textarea', { rows: 5, ...attributes });
  const letters = document.createTextNode('');
  const mark = element('span', { class: 'mark', hidden: true });
  const mirror = element('div', { class: 'mirror', 'aria-hidden': 'true' }, mark);
  mirror.append(letters);
  const root = element('div', { class: 'highlighted-text' }, mirror, field);
  const mirrorText = () => {
    // The zero-width space gives an empty last line its height.
    letters.data = `${field.value}\u200b`;
  };
  field.addEventListener('input', mirrorText);
  let current = -1;

  const clear = () => {
    current = -1;
    mark.hidden = true;
    delete root.dataset.word;
  };

  return {
    root,
    field,
    /** The text node of the transparent copy. */
    letters,
    get text() {
      return field.value;
    },
    /** @param {string} text */
    set text(text) {
      field.value = text;
      mirrorText();
      clear();
    },
    clear,
    /** Focuses the field and moves the caret to `index`. @param {number} index */
    select(index) {
      field.focus();
      field.setSelectionRange(index, index);
    },
    /**
     * Highlights the word spoken at `seconds`.
     * @param {readonly Word[]} words Sorted by time.
     * @param {number} seconds
     */
    highlight(words, seconds) {
      const index = findWord(words, seconds);
      const word = words[index];
      if (!word) return clear();
      if (index === current) return;
      current = index;
      root.dataset.word = String(index);
      const range = document.createRange();
      range.setStart(letters, Math.min(word.from, letters.length));
      range.setEnd(letters, Math.min(word.to, letters.length));
      const [box] = range.getClientRects();
      if (!box) return;
      const { left, top } = mirror.getBoundingClientRect();
      // The mark moves smoothly within a line of text, but jumps to another line.
      const line = String(Math.round(box.top - top));
      mark.classList.toggle('glides', !mark.hidden && mark.dataset.line === line);
      mark.dataset.line = line;
      mark.hidden = false;
      mark.style.width = `${box.width}px`;
      mark.style.height = `${box.height}px`;
      mark.style.transform = `translate(${box.left - left}px, ${box.top - top}px)`;
      scrollIntoView(root, box);
    },
  };
}

/**
 * Finds the last word that has started, by binary search. Returns -1 if no word has started.
 * @param {readonly Word[]} words
 * @param {number} seconds
 */
function findWord(words, seconds) {
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle]?.start ?? 0) <= seconds) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Scrolls the frame until the box is visible.
 * @param {HTMLElement} frame
 * @param {DOMRect} box
 */
function scrollIntoView(frame, box) {
  const { top, bottom } = frame.getBoundingClientRect();
  if (box.bottom > bottom - 8) frame.scrollTop += box.bottom - top - frame.clientHeight / 3;
  else if (box.top < top) frame.scrollTop += box.top - top - frame.clientHeight / 3;
}
