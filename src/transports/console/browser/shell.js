// Entry point of the console: renders the header (navigation, API key, theme) and the page that the URL hash names. If
// there is no valid API key, shows a form to enter a key.
/** @import { Page } from './page.d.ts' */
/** @import { ApiKey } from '../../../../gen/openapi.ts' */
import { ApiError, createApi, endSession, findSession } from './api.js';
import { readItem, removeItem, storeItem } from './browser-storage.js';
import { element, fill } from './element.js';
import { icon } from './icon.js';
import { keyPrompt } from './key-prompt.js';
import { createNotices, toErrorElements } from './notices.js';
import { chips, missingScope } from './page-elements.js';
import { pages } from './pages.js';
import { forgetSpeeches } from './speech-history.js';

/** @param {string} id */
const find = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [main, nav, keyMenu] = [find('main'), find('pages'), find('key-menu')];
const notices = createNotices({ status: find('status'), errors: find('errors') });
const { signInUrl } = document.body.dataset;
const keyItem = 'sonant-key';
/** Name of the key of a person who has signed in. */
const signInKeyName = 'console';
const themeItem = 'sonant-theme';

/** @type {{ apiKey: string, key: ApiKey } | undefined} */
let session;
let pageAbort = new AbortController();

/** The page that the URL hash names, and the rest of the hash. */
function parseAddress() {
  const [name = '', ...pathSegments] = location.hash.replace(/^#\/?/, '').split('/').map(decoded);
  return { page: pages.find((page) => page.name === name) ?? /** @type {Page} */ (pages[0]), pathSegments };
}

/** @param {string} part May be malformed, because users can edit the URL. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param {unknown} [error] */
function showKeyPrompt(error) {
  leavePage();
  document.title = 'Sonant';
  fill(main, keyPrompt({ signInUrl, error, onKey: useKey }));
  main.querySelector('input')?.focus();
}

function leavePage() {
  pageAbort.abort(new DOMException('The page was left.', 'AbortError'));
  pageAbort = new AbortController();
  notices.clearErrors();
}

/**
 * @param {string} apiKey
 * @param {ApiKey} key
 * @param {boolean} [isForDevice]
 */
function useKey(apiKey, key, isForDevice) {
  if (isForDevice !== undefined) storeItem(keyItem, apiKey, isForDevice ? 'device' : 'tab');
  session = { apiKey, key };
  showHeader();
  void showPage();
}

/** @param {unknown} [error] */
function forgetKey(error) {
  removeItem(keyItem);
  session = undefined;
  forgetSpeeches();
  showHeader();
  showKeyPrompt(error);
}

/** Forgets the key. If the person has signed in, also revokes the key, which is valid for a day, and ends the session. */
async function signOut() {
  const { apiKey, key } = /** @type {NonNullable<typeof session>} */ (session);
  const lifeMs = Date.parse(key.expires_at ?? '') - Date.parse(key.created_at);
  const revoke = () => createApi(apiKey).send('/api/auth/api-keys/self/revoke', { method: 'POST' });
  const ending = [endSession(), ...(key.name === signInKeyName && lifeMs <= 25 * 3_600_000 ? [revoke()] : [])];
  await Promise.allSettled(ending);
  forgetKey();
}

async function showPage() {
  if (!session) return;
  leavePage();
  const { apiKey, key } = session;
  const { page, pathSegments } = parseAddress();
  const { signal } = pageAbort;
  const root = element('div', { class: `page ${page.name}` });
  /** @param {string} scope */
  const hasScope = (scope) => key.scopes.includes(scope);
  const observer = new MutationObserver(() => {
    document.title = `${root.querySelector('h1')?.firstChild?.textContent ?? page.title} · Sonant`;
  });
  observer.observe(root, { childList: true });
  for (const link of nav.querySelectorAll('a')) {
    if (link.hash === `#/${page.name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  // If the old page had the focus, the focus moves to the start of the new page.
  const hadFocus = main.contains(document.activeElement);
  fill(main, root);
  if (hadFocus) main.focus({ preventScroll: true });
  if (page.scope !== undefined && !hasScope(page.scope))
    return fill(root, element('h1', {}, page.title), missingScope('open this page', page.scope));
  const { notify } = notices;
  /** Shows an error, unless the user aborted the request by leaving the page. @param {unknown} error */
  const showError = (error) => {
    if (!(signal.aborted && error instanceof DOMException && error.name === 'AbortError')) notices.showError(error);
  };
  try {
    const api = createApi(apiKey, forgetKey);
    await page.show({ root, api, key, hasScope, pathSegments, signal, notify, showError });
  } catch (error) {
    showError(error);
    const again = element('button', { type: 'button', onclick: () => showPage() }, 'Try again');
    root.querySelector('.loading')?.replaceWith(again);
  }
}

function showHeader() {
  nav.hidden = session === undefined;
  fill(
    nav,
    pages.map(({ name, title }) => element('a', { href: `#/${name}` }, title)),
  );
  if (!session) return fill(keyMenu);
  const { name, hint } = session.key;
  const forgetButton = element('button', { type: 'button', onclick: signOut }, 'Sign out');
  const popover = element(
    'div',
    { id: 'about-key', popover: 'auto', class: 'card popover', role: 'dialog', 'aria-label': 'The key in use' },
    element('p', {}, element('strong', {}, name)),
    element('p', { class: 'hint mono' }, hint),
    element('p', {}, chips(session.key.scopes, 'code')),
    forgetButton,
  );
  const button = element(
    'button',
    { type: 'button', class: 'quiet', popovertarget: 'about-key', 'aria-label': `Key: ${name}` },
    icon('key'),
    element('span', { class: 'wide' }, name),
  );
  fill(keyMenu, button, popover);
}

function toggleTheme() {
  const isDark = getComputedStyle(document.documentElement).colorScheme === 'dark' || isDeviceDark();
  const next = isDark ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  storeItem(themeItem, next, 'device');
}

const isDeviceDark = () =>
  document.documentElement.dataset.theme === undefined && matchMedia('(prefers-color-scheme: dark)').matches;

async function start() {
  const toggle = find('theme-toggle');
  toggle.append(icon('contrast'));
  toggle.addEventListener('click', toggleTheme);
  find('skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
  });
  addEventListener('hashchange', () => showPage());
  // Another tab has stored or removed the key that this device remembers.
  addEventListener('storage', ({ key }) => {
    if (key !== keyItem) return;
    if (!session) void resume();
    else if (readItem(keyItem) === undefined) forgetKey();
  });
  showHeader();
  await resume();
}

/**
 * Creates a key for a person who has signed in, valid for a day, which the console uses in all tabs of this browser. The
 * key cannot create keys, because they would expire with it. Without a session, asks for a key.
 * @param {unknown} [error] The reason why the previous key is no longer used.
 */
async function useSignIn(error) {
  try {
    const signedIn = await findSession();
    if (!signedIn) return showKeyPrompt(error);
    const scopes = signedIn.scopes.filter((scope) => scope !== 'keys:write');
    const body = { name: signInKeyName, scopes, expires_in_days: 1 };
    const { key: apiKey, ...key } = await createApi(signedIn).requestJson('/api/auth/api-keys', { body });
    useKey(apiKey, key, true);
  } catch (failure) {
    showKeyPrompt(failure);
  }
}

/** Continues with the stored key. If the service cannot check it now, the user can try again. */
async function resume() {
  const apiKey = readItem(keyItem);
  if (apiKey === undefined) return useSignIn();
  try {
    useKey(apiKey, await createApi(apiKey).requestJson('/api/auth/api-keys/self'));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      removeItem(keyItem);
      return useSignIn(error);
    }
    const again = element('button', { type: 'button', class: 'main', onclick: resume }, 'Try again');
    const forget = element('button', { type: 'button', onclick: () => forgetKey() }, 'Use another key');
    const message = element('div', { role: 'alert' }, toErrorElements(error));
    fill(main, element('section', { class: 'welcome' }, message, element('div', { class: 'row' }, again, forget)));
  }
}

void start();
