// Opens a service with jobs for a test, and provides common steps: create a job, wait for its end, download its file.
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesOf, openTestGateway } from '../../transports/http/open-gateway.ts';

export const scopes = ['jobs:read', 'jobs:write', 'speech:synthesize', 'voices:read', 'usage:read'];

/** Three short chapters, one of them with several sentences. */
export const chapters = [
  { title: 'One', text: 'The train leaves at nine. It is late today. Nobody waits for it.' },
  { title: 'Two', text: 'A second chapter, with a comma, and a clause.\n\nAnd another paragraph.' },
  { title: 'Three', text: 'The end.' },
];

// biome-ignore lint/suspicious/noExplicitAny: JSON of the API, which the OpenAPI schemas check
export type JobJson = any;

export async function openJobsGateway(...opening: Parameters<typeof openTestGateway>) {
  const gateway = await openTestGateway(...opening);
  const key = await gateway.makeKey(scopes);
  const headers = { 'X-API-Key': key };
  const send = (path: string, init: Parameters<typeof gateway.send>[1] = {}) =>
    gateway.send(`/api/audio/jobs${path}`, { ...init, headers: { ...headers, ...init.headers } });
  const readJson = async (...asked: Parameters<typeof gateway.send>): Promise<JobJson> =>
    (await gateway.send(...asked)).json();
  const readJobs = async (...asked: Parameters<typeof send>): Promise<JobJson> => (await send(...asked)).json();
  const create = async (body: object = {}): Promise<JobJson> => {
    const response = await send('', { body: { voice_id: 'tone-low', chapters, ...body } });
    const job: JobJson = await response.json();
    if (response.status !== 202) throw new Error(JSON.stringify(job));
    return job;
  };
  const get = async (id: string): Promise<JobJson> => readJobs(`/${id}`);
  const until = async (id: string, isSo: (job: JobJson) => boolean): Promise<JobJson> => {
    const endsMs = performance.now() + 60_000;
    for (;;) {
      const job = await get(id);
      if (isSo(job)) return job;
      if (performance.now() > endsMs) throw new Error(`the job is still ${JSON.stringify(job)}`);
      await sleep(20);
    }
  };
  const untilEnded = (id: string) => until(id, ({ ended_at }) => ended_at !== null);
  const download = async (url: string) => bytesOf(await gateway.send(url));
  return { ...gateway, jobsKey: key, sendJobs: send, readJobs, readJson, create, get, until, untilEnded, download };
}

export type JobsGateway = Awaited<ReturnType<typeof openJobsGateway>>;
