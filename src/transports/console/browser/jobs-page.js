// The Jobs page: the jobs of the API key, newest first and updated while they run, below the form that creates a job from
// a book.
/** @import { Job, SettleSuspect } from '../../../../gen/openapi.ts' */
/** @import { Api } from './api.js' */
/** @import { PageContext } from './page.d.ts' */
import { ApiError, serviceUrl } from './api.js';
import { isConfirmed } from './confirm-dialog.js';
import { element, fill } from './element.js';
import { readEvents } from './event-stream-reader.js';
import { toCount, toDuration, toTimeAgo } from './formatting.js';
import { icon } from './icon.js';
import { createJobForm } from './job-form.js';
import { createSuspects } from './job-suspects.js';
import { loading } from './notices.js';
import { pageHead } from './page-elements.js';

/** @param {PageContext} pageContext */
export async function showJobs(pageContext) {
  const { root, api, hasScope, signal, showError } = pageContext;
  const head = pageHead({ title: 'Jobs', lead: 'Books and other long texts, spoken in the background.' });
  fill(root, head, loading('Loading the jobs …'));
  /** @type {Map<string, ReturnType<typeof createJobCard>>} */
  const cards = new Map();
  const list = element('div', { class: 'job-cards' });
  const none = element('p', { class: 'card hint' }, 'There are no jobs. Ended jobs are deleted after a while.');
  const showNone = () => (none.hidden = cards.size > 0);
  const watched = new Set();

  /** @param {Job} job */
  const watch = async (job) => {
    if (job.ended_at !== null || watched.has(job.id)) return;
    watched.add(job.id);
    await watchJob({ api, id: job.id, signal, onJob: (next) => cards.get(job.id)?.show(next) }).finally(() =>
      watched.delete(job.id),
    );
  };
  /** @param {Job} job */
  const startWatch = (job) => void watch(job).catch(showError);
  /**
   * @param {Job} job
   * @param {'first' | 'last'} place
   */
  const add = (job, place) => {
    const known = cards.get(job.id);
    if (known) known.show(job);
    else {
      const card = createJobCard(job, {
        pageContext,
        onChanged: startWatch,
        onDeleted() {
          cards.delete(job.id);
          card.root.remove();
          showNone();
        },
      });
      cards.set(job.id, card);
      if (place === 'first') list.prepend(card.root);
      else list.append(card.root);
    }
    showNone();
    startWatch(job);
  };

  const [{ jobs }, voices] = await Promise.all([
    /** @type {Promise<{ jobs: Job[] }>} */ (api.requestJson('/api/audio/jobs', { query: { limit: 100 }, signal })),
    hasScope('jobs:write') && hasScope('voices:read') ? api.list('/api/voices', 'voices', { signal }) : [],
  ]);
  const form =
    voices.length > 0 && createJobForm({ pageContext, voices, onMade: (/** @type {Job} */ job) => add(job, 'first') });
  fill(root, head, form, element('h2', { id: 'jobs-heading' }, 'Your jobs'), none, list);
  showNone();
  for (const job of jobs) add(job, 'last');
}

const againMs = 2_000;

/**
 * @param {object} options
 * @param {Api} options.api
 * @param {string} options.id
 * @param {AbortSignal} options.signal
 * @param {(job: Job) => void} options.onJob
 */
async function watchJob({ api, id, signal, onJob }) {
  let last = '';
  while (!signal.aborted) {
    try {
      const headers = last === '' ? {} : { 'Last-Event-ID': last };
      const reply = await api.send(`/api/audio/jobs/${encodeURIComponent(id)}/events`, { headers, signal });
      if (reply.status === 204 || !reply.body) return;
      for await (const event of readEvents(reply.body)) {
        // The event stream ended before the job did. The next request returns the reason.
        if (!event.data.job) break;
        last = event.id || last;
        onJob(event.data.job);
        if (event.data.job.ended_at !== null) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      // The job was deleted in the meantime.
      if (error instanceof ApiError && error.status === 404) return;
      if (error instanceof ApiError && error.status < 500) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}

/** Returns the file's URL below the console's own base URL. The public URL may differ. @param {string} url */
const toOwnAddress = (url) => `${serviceUrl}/audio/${url.slice(url.lastIndexOf('/') + 1)}`;

/** @param {Job} job */
const toPath = ({ id }) => `/api/audio/jobs/${encodeURIComponent(id)}`;

/** @param {Job} job */
const titleOf = ({ metadata, chapters, id }) => metadata.title || chapters[0]?.title || id;

/**
 * The name of a downloaded file. The voice and the time keep apart files of the same book.
 * @param {Job} job
 * @param {string} url
 * @param {string} [chapter]
 */
const fileNameOf = (job, url, chapter = '') =>
  `${titleOf(job)} ${chapter}(${job.voice_id}, ${job.created_at.slice(0, 19)}).${url.split('.').pop()}`;

/**
 * @param {Job} first
 * @param {object} options
 * @param {PageContext} options.pageContext
 * @param {(job: Job) => void} options.onChanged Called with a job that may have been queued again.
 * @param {() => void} options.onDeleted
 */
function createJobCard(first, { pageContext, onChanged, onDeleted }) {
  const title = titleOf(first);
  const progress = element('progress', { max: 1, value: 0, 'aria-label': `Progress of ${title}` });
  const status = element('span', { class: 'chip' });
  const facts = element('p', { class: 'hint' });
  const fault = element('p', { class: 'result' });
  const sound = element('div', { class: 'row' });
  const { api, hasScope, notify, showError } = pageContext;
  const path = toPath(first);
  /** @param {SettleSuspect} body */
  const settle = async (body) => {
    try {
      const next = await api.requestJson(`${path}/suspects`, { body });
      show(next);
      onChanged(next);
      notify(body.action === 'keep' ? 'The sentence is kept.' : 'The sentence is spoken again.');
    } catch (error) {
      showError(error);
    }
  };
  const suspects = createSuspects({ toOwnAddress, settle: hasScope('jobs:write') && settle });
  const chapters = element('ol', { class: 'job-chapters' });
  let current = first;
  const { cancel, retry, buttons } = createButtons(first, {
    pageContext,
    isRunning: () => current.ended_at === null,
    onJob: (job) => show(job),
    onChanged,
    onDeleted,
  });

  /** @param {Job} job */
  const show = (job) => {
    const before = current.audio_url;
    current = job;
    const { chars, chars_done, chapters_done, seconds, eta_seconds } = job.progress;
    const isRunning = job.ended_at === null;
    status.textContent = job.status;
    status.dataset.status = job.status;
    progress.hidden = !isRunning;
    progress.value = chars === 0 ? 0 : chars_done / chars;
    const left = isRunning && eta_seconds !== null ? `${toDuration(eta_seconds)} left` : '';
    const percent = isRunning ? `${Math.floor((100 * chars_done) / Math.max(1, chars))} %` : '';
    const spoken = `${chapters_done} of ${job.chapters.length} chapters`;
    facts.textContent = [percent, spoken, `${toCount(chars)} characters`, seconds > 0 && toDuration(seconds), left]
      .filter(Boolean)
      .join(' · ');
    fill(fault, job.error && toFaultText(job));
    fault.hidden = job.error === null;
    cancel.hidden = !isRunning;
    retry.hidden = job.status !== 'failed' && job.status !== 'canceled';
    if (job.audio_url && (job.audio_url !== before || !sound.hasChildNodes()))
      fill(sound, ...soundOf(job, pageContext));
    suspects.show(job);
    fill(chapters, ...job.chapters.map((_, n) => toChapter(job, n)));
  };

  const root = element(
    'article',
    { class: 'card job', 'data-job': first.id },
    element('div', { class: 'row' }, element('h3', {}, title), status),
    element(
      'p',
      { class: 'hint' },
      [first.metadata.author, first.voice_id, first.output_format.toUpperCase(), toTimeAgo(first.created_at)]
        .filter(Boolean)
        .join(' · '),
    ),
    progress,
    facts,
    fault,
    sound,
    suspects.root,
    element('details', {}, element('summary', {}, 'Chapters'), chapters),
    buttons,
  );
  show(first);
  return { root, show };
}

/**
 * @param {Job} job
 * @param {object} options
 * @param {PageContext} options.pageContext
 * @param {() => boolean} options.isRunning
 * @param {(job: Job) => void} options.onJob Called with the canceled or retried job.
 * @param {(job: Job) => void} options.onChanged
 * @param {() => void} options.onDeleted
 */
function createButtons(job, { pageContext, isRunning, onJob, onChanged, onDeleted }) {
  const { api, hasScope, notify, showError } = pageContext;
  const path = toPath(job);
  const title = titleOf(job);
  /** @param {boolean} isDisabled */
  const disable = (isDisabled) => {
    for (const each of buttons.querySelectorAll('button')) each.disabled = isDisabled;
  };
  /** @param {() => Promise<void>} work */
  const act = (work) => () => {
    disable(true);
    work()
      .catch(showError)
      .finally(() => disable(false));
  };
  const onCancel = act(async () => {
    onJob(await api.requestJson(`${path}/cancel`, { method: 'POST' }));
    notify(`${title} is canceled.`);
  });
  const onRetry = act(async () => {
    const next = await api.requestJson(`${path}/retry`, { method: 'POST' });
    onJob(next);
    onChanged(next);
    notify(`${title} continues.`);
  });
  const onDelete = act(async () => {
    const text = `${isRunning() ? 'The job ends, and its' : 'Its'} audio is deleted.`;
    if (!(await isConfirmed({ title: `Delete ${title}?`, text, yes: 'Delete' }))) return;
    await api.send(path, { method: 'DELETE' });
    onDeleted();
    notify(`${title} is deleted.`);
  });
  const [cancel, retry] = [button('Cancel', title, onCancel), button('Retry', title, onRetry)];
  const buttons = element(
    'div',
    { class: 'row' },
    hasScope('jobs:write') && [cancel, retry, button('Delete', title, onDelete)],
  );
  return { cancel, retry, buttons };
}

/**
 * @param {string} label
 * @param {string} title
 * @param {() => void} onclick
 */
const button = (label, title, onclick) =>
  element('button', { type: 'button', 'aria-label': `${label} ${title}`, onclick }, label);

/** @param {Job} job */
function toFaultText({ error, chapters }) {
  if (!error) return '';
  const where = error.chapter === null ? '' : ` In “${chapters[error.chapter]?.title || error.chapter + 1}”`;
  return `${error.message}${where}${error.text ? `: “${error.text}”` : ''}`;
}

/** @param {Job} job @param {PageContext} pageContext */
function soundOf(job, { api, signal, showError }) {
  const source = toOwnAddress(/** @type {string} */ (job.audio_url));
  const saveReceipt = () => api.save(fileNameOf(job, 'receipt.json', 'receipt '), `${toPath(job)}/receipt`, { signal });
  return [
    element('audio', { controls: true, preload: 'none', src: source, 'aria-label': titleOf(job) }),
    element('a', { class: 'button', href: source, download: fileNameOf(job, source) }, icon('download'), 'Download'),
    ...Object.entries(job.captions).map(([kind, url]) =>
      element(
        'a',
        { class: 'button quiet', href: toOwnAddress(url), download: fileNameOf(job, url) },
        kind.toUpperCase(),
      ),
    ),
    button('Receipt', `of ${titleOf(job)}`, () => saveReceipt().catch(showError)),
  ];
}

/** @param {Job} job @param {number} n */
function toChapter(job, n) {
  const { title, chars, chars_done, audio_url, start } = /** @type {Job['chapters'][number]} */ (job.chapters[n]);
  const share = chars_done === 0 ? '' : `${Math.floor((100 * chars_done) / Math.max(1, chars))} %`;
  const place = start === null ? share : toDuration(start);
  const name = title || 'Untitled';
  return element(
    'li',
    {},
    audio_url
      ? element('a', { href: toOwnAddress(audio_url), download: fileNameOf(job, audio_url, `${n + 1} ${name} `) }, name)
      : name,
    ' ',
    element('small', {}, audio_url ? place : share),
  );
}
