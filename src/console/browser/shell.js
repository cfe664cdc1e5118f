// The console: its head with the pages to go to, the key, and light or dark; and below it the page that the address names.
// Without a key that the service knows there is no page, but a place to paste one.
/** @import { Page } from './page.d.ts' */
/** @import { ApiKey } from './wire.d.ts' */
import { createApi, Refusal } from './api.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { forget, keep, recall } from './kept.js';
import { createNotices, toWords } from './notices.js';
import { pages } from './pages.js';
import { welcome } from './welcome.js';

/** @param {string} id */
const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [main, nav, holder] = [find('main'), find('pages'), find('holder')];
const notices = createNotices({ status: find('status'), trouble: find('trouble') });
const { signInUrl } = document.body.dataset;
const keptKey = 'sonant-key';
const keptTheme = 'sonant-theme';

/** @type {{ apiKey: string, key: ApiKey } | undefined} */
let session;
let leaving = new AbortController();

/** What the address asks for: a page, and what follows its name. */
function addressed() {
  const [name = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/').map(decoded);
  return { page: pages.find((page) => page.name === name) ?? /** @type {Page} */ (pages[0]), rest };
}

/** @param {string} part As somebody may have typed it. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param {unknown} [trouble] */
function showWelcome(trouble) {
  leave();
  document.title = 'Sonant';
  fill(main, welcome({ signInUrl, trouble, onKey: enter }));
  main.querySelector('input')?.focus();
}

function leave() {
  leaving.abort(new DOMException('The page was left.', 'AbortError'));
  leaving = new AbortController();
  notices.forgive();
}

/**
 * @param {string} apiKey
 * @param {ApiKey} key
 * @param {boolean} [isForDevice]
 */
function enter(apiKey, key, isForDevice) {
  if (isForDevice !== undefined) keep(keptKey, apiKey, isForDevice ? 'device' : 'tab');
  session = { apiKey, key };
  showHead();
  void showPage();
}

/** @param {unknown} [trouble] */
function exit(trouble) {
  forget(keptKey);
  session = undefined;
  showHead();
  showWelcome(trouble);
}

async function showPage() {
  if (!session) return;
  leave();
  const { apiKey, key } = session;
  const { page, rest } = addressed();
  const { signal } = leaving;
  const room = element('div', { class: `room ${page.name}` });
  /** @param {string} scope */
  const may = (scope) => key.scopes.includes(scope);
  document.title = `${page.title} · Sonant`;
  for (const link of nav.querySelectorAll('a')) {
    if (link.hash === `#/${page.name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  // Who went on from within the page is at the beginning of the next one.
  const wasWithin = main.contains(document.activeElement);
  fill(main, room);
  if (wasWithin) main.focus({ preventScroll: true });
  if (page.scope !== undefined && !may(page.scope)) return fill(room, notFor(page.title, page.scope));
  const { say } = notices;
  /** What ended because the page was left did not fail. @param {unknown} error */
  const complain = (error) => {
    if (!(signal.aborted && error instanceof DOMException && error.name === 'AbortError')) notices.complain(error);
  };
  try {
    const api = createApi(apiKey, exit);
    await page.show({ room, api, key, may, rest, signal, say, complain });
  } catch (error) {
    complain(error);
    const again = element('button', { type: 'button', onclick: () => showPage() }, 'Try again');
    room.querySelector('.loading')?.replaceWith(again);
  }
}

/**
 * @param {string} title
 * @param {string} scope
 */
const notFor = (title, scope) => [
  element('h1', {}, title),
  element('p', { class: 'lead' }, 'This key is not good for it: it lacks ', element('code', {}, scope), '.'),
];

function showHead() {
  nav.hidden = session === undefined;
  fill(
    nav,
    pages.map(({ name, title }) => element('a', { href: `#/${name}` }, title)),
  );
  if (!session) return fill(holder);
  const { name, hint } = session.key;
  const leaveIt = element('button', { type: 'button', onclick: () => exit() }, 'Forget this key');
  const scopes = session.key.scopes.map((scope) => element('code', {}, scope));
  const more = element(
    'div',
    { id: 'about-key', popover: 'auto', class: 'card popover', role: 'dialog', 'aria-label': 'The key in use' },
    element('p', {}, element('strong', {}, name)),
    element('p', { class: 'hint mono' }, hint),
    element('p', { class: 'scopes' }, ...scopes),
    leaveIt,
  );
  const button = element(
    'button',
    { type: 'button', class: 'quiet', popovertarget: 'about-key', 'aria-label': `Key: ${name}` },
    icon('key'),
    element('span', { class: 'wide' }, name),
  );
  fill(holder, button, more);
}

function turnLight() {
  const isDark = getComputedStyle(document.documentElement).colorScheme === 'dark' || isDarkByDevice();
  const next = isDark ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  keep(keptTheme, next, 'device');
}

const isDarkByDevice = () =>
  document.documentElement.dataset.theme === undefined && matchMedia('(prefers-color-scheme: dark)').matches;

async function begin() {
  const turn = find('turn-light');
  turn.append(icon('sun'), icon('moon'));
  turn.addEventListener('click', turnLight);
  find('skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
  });
  addEventListener('hashchange', () => showPage());
  showHead();
  await comeBack();
}

/** With the key that was kept; what cannot be found out of it now is told, and can be asked again. */
async function comeBack() {
  const apiKey = recall(keptKey);
  if (apiKey === undefined) return showWelcome();
  try {
    enter(apiKey, await createApi(apiKey).ask('/api/auth/api-keys/self'));
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return exit(error);
    const again = element('button', { type: 'button', class: 'main', onclick: comeBack }, 'Try again');
    const leave = element('button', { type: 'button', onclick: () => exit() }, 'Forget this key');
    const words = element('div', { role: 'alert' }, toWords(error));
    fill(main, element('section', { class: 'welcome' }, words, element('div', { class: 'row' }, again, leave)));
  }
}

void begin();
