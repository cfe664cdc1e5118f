// Watches a job by its events until the job has ended. A lost connection is resumed after the last event.
/** @import { Api } from './api.js' */
/** @import { Job } from '../../../gen/openapi.ts' */
import { ApiError } from './api.js';
import { readEvents } from './event-stream-reader.js';

const againMs = 2_000;

/**
 * @param {object} options
 * @param {Api} options.api
 * @param {string} options.id
 * @param {AbortSignal} options.signal
 * @param {(job: Job) => void} options.onJob
 */
export async function watchJob({ api, id, signal, onJob }) {
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
