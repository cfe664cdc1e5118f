// Elements that several pages share: page headers, the hint about a missing scope, lists of terms and values, and tabs.
/** @import { Child } from './element.js' */
import { element } from './element.js';

/**
 * @param {object} options
 * @param {readonly [address: string, name: string]} [options.back] Link to the parent page.
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
 * @param {string} action The action that the key lacks permission for, such as "open this page".
 * @param {string} scope
 */
export function missingScope(action, scope) {
  const { signInUrl } = document.body.dataset;
  return element(
    'p',
    { class: 'card missing-scope' },
    `This key cannot ${action}. It lacks the scope `,
    element('code', {}, scope),
    '. Use another key',
    signInUrl && [', or ', element('a', { href: signInUrl }, 'sign in')],
    '. The page ',
    element('a', { href: '#/keys' }, 'Keys'),
    ' lists the scopes of this key.',
  );
}

/**
 * Lists terms with their values. Terms without a value are omitted.
 * @param {(readonly [string, Child | Child[]])[]} facts
 */
export const factList = (facts) =>
  element(
    'dl',
    {},
    ...facts.flatMap(([term, value]) =>
      value === undefined || value === '' ? [] : [element('dt', {}, term), element('dd', {}, value)],
    ),
  );

/**
 * @param {readonly string[]} texts
 * @param {'span' | 'code'} [name]
 */
export const chips = (texts, name = 'span') =>
  element('span', { class: 'chips' }, ...texts.map((text) => element(name, { class: 'chip' }, text)));

/**
 * Radio buttons that look like tabs.
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.legend
 * @param {readonly (readonly [value: string, label: string])[]} options.values
 * @param {string} options.chosen
 * @param {(value: string) => void} options.onChoose
 */
export const tabs = ({ name, legend, values, chosen, onChoose }) =>
  element(
    'fieldset',
    { class: 'tabs' },
    element('legend', { class: 'sr-only' }, legend),
    values.map(([value, label]) => {
      const onchange = () => onChoose(value);
      const radio = element('input', { type: 'radio', name, value, checked: value === chosen, onchange });
      return element('label', {}, radio, element('span', {}, label));
    }),
  );
