// The head of a page, and the hint about a scope that the key lacks.
/** @import { Child } from './element.js' */
import { element } from './element.js';

/**
 * @param {object} options
 * @param {readonly [address: string, name: string]} [options.back] The page above.
 * @param {Child | Child[]} options.title
 * @param {Child | Child[]} options.lead
 * @param {Child[] | undefined} [options.actions]
 */
export const pageHead = ({ back, title, lead, actions }) =>
  element(
    'div',
    { class: 'page-head' },
    element(
      'div',
      {},
      back && element('a', { class: 'back', href: back[0] }, `‹ ${back[1]}`),
      element('h1', { tabindex: -1 }, title),
      element('p', { class: 'lead' }, lead),
    ),
    actions && element('div', { class: 'row' }, ...actions),
  );

/**
 * @param {string} action What the key cannot do.
 * @param {string} scope
 */
export function missingScope(action, scope) {
  const { signInUrl } = document.body.dataset;
  const place = signInUrl ? element('a', { href: signInUrl }, 'the page of your account') : 'another key';
  const use = signInUrl ? '. Get a key that has it on ' : '. Use ';
  return element(
    'p',
    { class: 'card missing-scope' },
    `This key cannot ${action}. It lacks the scope `,
    element('code', {}, scope),
    use,
    place,
    '. The page ',
    element('a', { href: '#/keys' }, 'Keys'),
    ' lists the scopes of this key.',
  );
}
