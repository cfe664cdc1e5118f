// The jobs of the key, newest first, each kept up to date; above them is the form that makes a job from a book.
/** @import { Job } from '../../../gen/openapi.ts' */
/** @import { Api } from './api.js' */
/** @import { PageContext } from './page.d.ts' */
import { ApiError } from './api.js';
import { element, fill } from './element.js';
import { readEvents } from './event-stream-reader.js';
import { createJobCard } from './job-card.js';
import { createJobForm } from './job-form.js';
import { pageHead } from './page-head.js';

/** @param {PageContext} pageContext */
export async function showJobs(pageContext) {
  const { root, api, hasScope, signal, showError } = pageContext;
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
  const head = pageHead({ title: 'Jobs', lead: 'Books and other long texts, spoken in the background.' });
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
        // The events ended before the job. The next request states the reason.
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
