// Tests jobs over HTTP: text is synthesized in the background into one file plus a file per chapter, or not at all.
import { create as createMessage } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { CreateJobRequestSchema } from '../../../gen/sonant/v1/job_service_pb.ts';
import { Markup } from '../../../gen/sonant/v1/speech_pb.ts';
import { createClipMemory } from '../../../src/clips/clip-memory.ts';
import { partCharsMax } from '../../../src/clips/jobs/job-limits.ts';
import { readJobRequest, toPartRequest } from '../../../src/clips/jobs/job-request.ts';
import { Violations } from '../../../src/contract/violations.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { countTurns } from '../../count-turns.ts';
import { chapters, type JobJson, openJobsGateway, scopes } from './open-jobs.ts';

describe('a job', () => {
  test('becomes one file, and a file for each chapter', async () => {
    const { create, untilEnded, download, faults } = await openJobsGateway();
    const made = await create({ output_format: 'wav', chapter_gap_seconds: 1.5, captions: ['vtt'] });
    expect(made).toMatchObject({ status: 'queued', audio_url: null, error: null });
    const job = await untilEnded(made.id);
    expect(faults).toEqual([]);
    expect(job).toMatchObject({ status: 'succeeded', error: null });
    const chars = chapters.reduce((sum, { text }) => sum + text.length, 0);
    expect(job.progress).toMatchObject({ chars, chars_done: chars, chapters_done: 3 });
    expect(job.usage.characters).toBe(chars);
    expect(job.chapters.map(({ title }: { title: string }) => title)).toEqual(['One', 'Two', 'Three']);
    const whole = await download(job.audio_url);
    expect(whole.subarray(0, 4).toString()).toBe('RIFF');
    for (const { audio_url, start, end } of job.chapters) {
      const own = await download(audio_url);
      const sound = own.subarray(44);
      // Times are reported in milliseconds.
      const [earliest, latest] = [start - 0.0006, start + 0.0006].map((at) => 44 + Math.floor(at * 44_100) * 2);
      const at = whole.indexOf(sound, Math.max(44, earliest!));
      expect(own.length - 44).toBeCloseTo((end - start) * 88_200, -3);
      expect(at).toBeGreaterThanOrEqual(44);
      expect(at).toBeLessThanOrEqual(latest! + 2);
    }
    const vtt = (await download(job.captions.vtt)).toString();
    expect(vtt).toContain('The train leaves at nine.');
    expect(vtt).toContain('The end.');
  });

  test('whose languages are found has captions, and no language in its file', async () => {
    const { create, untilEnded, download } = await openJobsGateway();
    const text = 'Der Zug fährt heute leider nicht. The next one leaves from platform four.';
    const made = await create({ language_code: 'auto', output_format: 'wav', captions: ['srt'], chapters: [{ text }] });
    const job = await untilEnded(made.id);
    expect(job).toMatchObject({ status: 'succeeded', error: null });
    expect((await download(job.captions.srt)).toString()).toContain('Der Zug fährt heute leider nicht.');
    expect((await download(job.audio_url)).includes('auto')).toBe(false);
  });

  test('whose voice ends while its chapters are joined leaves no file of the whole', async () => {
    const { create, untilEnded, openOwnJobs, rows, clips } = await openJobsGateway({ jobChaptersMax: 0 });
    const books: string[] = [];
    const chars = chapters.reduce((sum, { text }) => sum + text.length, 0);
    const add: typeof rows.add = async (clip) => {
      if (clip.chars === chars && books.push(clip.clipId) === 1)
        await rows.expireOfVoice('tone-low', Number.MAX_SAFE_INTEGER, 10);
      await rows.add(clip);
    };
    const jobs = openOwnJobs({ clips: { index: { ...rows, add }, memory: createClipMemory(clips) } });
    // The job's chapters can be spoken again, because the voice's deletion is only simulated.
    const job = await untilEnded((await create()).id);
    await jobs.close();
    expect(job.audio_url).toContain(books[1]);
    expect(await rows.isAlive(books[0]!)).toBe(false);
  });

  test('takes a chapter for SSML as a whole or not at all', async () => {
    const long = `${'So it goes. '.repeat(1_000)}\n\n`;
    const document = `<?xml version="1.0"?>\n<speak>${long}</speak>`;
    const texts = [document, `${long.slice(-9_000)}<speak>Stop.</speak>`];
    const message = createMessage(CreateJobRequestSchema, {
      voiceId: 'tone-low',
      markup: Markup.SSML,
      chapters: texts.map((text) => ({ text })),
    });
    const request = (await readJobRequest(message, new Violations()))!;
    const [whole, plain] = request.chapters;
    expect(whole!.parts.map(({ text }) => text)).toEqual([document]);
    expect(plain!.chars).toBe(texts[1]!.length);
    const { markup } = toPartRequest(request.settings.speech, plain!.speech, '<speak>Stop.</speak>');
    expect(markup).toBeUndefined();
  });

  test('gives away turns of the event loop while its chapters are read', async () => {
    const turns = (count: number) => {
      const ssml = `<speak>${'<s>Hi.</s>'.repeat(480)}</speak>`;
      const chapters = Array.from({ length: count }, () => ({ ssml }));
      const message = createMessage(CreateJobRequestSchema, { voiceId: 'tone-low', chapters });
      return countTurns(() => readJobRequest(message, new Violations()));
    };
    await turns(1);
    expect(await turns(200)).toBeGreaterThan(20);
  });

  test('that has used up the characters of the month fails as over a limit, and tells where', async () => {
    const { keyVerifier, sendJobs, readJobs } = await openJobsGateway({ isLimited: true });
    const { key } = await keyVerifier.create({ limits: { charactersPerMonth: 30 }, scopes });
    const headers = { 'X-API-Key': key };
    const errorOf = async (text: string): Promise<JobJson> => {
      const { id } = await readJobs('', { headers, body: { voice_id: 'tone-low', text } });
      // The event stream of a job closes when the job finishes.
      await (await sendJobs(`/${id}/events`, { headers })).text();
      const { error, usage } = await readJobs(`/${id}`, { headers });
      return { ...error, characters: usage.characters };
    };
    const whole = 'A sentence of more characters than this key may have in a month of all';
    const told = { error: 'rate_limit_exceeded', chapter: 0 };
    expect(await errorOf(whole)).toMatchObject({
      ...told,
      offset: 0,
      text: expect.stringMatching(/^A sent/),
      characters: 0,
    });
    const parts = 'The train leaves at nine. It is late today, and nobody who is here waits for it any more.';
    expect(await errorOf(parts)).toMatchObject({
      ...told,
      offset: 26,
      text: expect.stringMatching(/^It is late/),
      characters: 24,
    });
  });

  test('is counted for its voice, also where it has nothing to speak', async () => {
    const { create, untilEnded, readJson, jobsKey } = await openJobsGateway();
    const { id } = await create({ chapters: [{ text: 'Hello.' }, { text: '***' }] });
    await untilEnded(id);
    const { groups } = await readJson('/api/usage?group_by=voice', { headers: { 'X-API-Key': jobsKey } });
    expect(groups).toMatchObject([{ group: 'tone-low', characters: 'Hello.***'.length }]);
  });

  test('knows the voice of each chapter, also where the parts of one are alike', async () => {
    const { create, readJobs } = await openJobsGateway();
    const paragraph = `${'So it goes. '.repeat(208)}\n\n`;
    const alike = { title: 'Alike', text: paragraph.repeat(8), voice_id: 'tone-low' };
    const { id, chapters: made } = await create({
      chapters: [alike, { title: 'Other', text: 'The end.', voice_id: 'tone-high' }],
    });
    expect(made.map(({ voice_id }: { voice_id: string }) => voice_id)).toEqual(['tone-low', 'tone-high']);
    await readJobs(`/${id}/cancel`, { method: 'POST' });
  });
});

describe('a store that is away for a moment', () => {
  const finishing = /set chapters_done = chapters_done \+ 1/;
  const ending = /update jobs set status = \$2/;
  const removing = /update clips set deleted_at_ms/;
  const hourMs = 3_600_000;

  /** Runs a job with one chapter. Each statement fails once, before or after its transaction is committed. */
  async function speak(statements: readonly RegExp[], isCommitted = false) {
    const gateway = await openJobsGateway();
    const { store, create, untilEnded, download, tone } = gateway;
    const { transaction } = store;
    const left = new Set(statements);
    const fail = (found: RegExp | undefined) => {
      if (found && left.delete(found)) throw new Failure('storage_unavailable');
    };
    store.transaction = async (work, ...rest) => {
      let seen: RegExp | undefined;
      const result = await transaction.call(
        store,
        (rows) => {
          const query: typeof rows.query = (sql, ...values) => {
            const found = [...left].find((statement) => statement.test(sql));
            seen ??= found;
            if (!isCommitted) fail(found);
            return rows.query(sql, ...values);
          };
          return work({ ...rows, query });
        },
        ...rest,
      );
      fail(seen);
      return result as never;
    };
    const made = await create({ chapters: [{ title: 'One', text: 'The train leaves at nine.' }], keep_hours: 2 });
    const job = await untilEnded(made.id);
    expect([job.status, [...left]]).toEqual(['succeeded', []]);
    const urls: string[] = [job.audio_url, ...job.chapters.map(({ audio_url }: JobJson) => audio_url)];
    for (const url of urls) expect((await download(url)).length).toBeGreaterThan(1_000);
    const others = async () => {
      const sql = 'select clip_id as id, expires_at_ms as "expiresAtMs" from clips where deleted_at_ms is null';
      const clips = await store.query<{ id: string; expiresAtMs: number }>(sql);
      return clips.filter(({ id }) => !urls.some((url) => url.includes(id)));
    };
    return { ...gateway, job, others, segments: tone.segments.length };
  }

  test('leaves no audio of a chapter that no job names', async () => {
    const { job, others, sendJobs, store } = await speak([finishing]);
    expect(await others()).toEqual([]);
    expect((await sendJobs(`/${job.id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await store.query('select clip_id from clips where deleted_at_ms is null')).toEqual([]);
  });

  test('leaves none for long where it cannot be removed', async () => {
    const { others } = await speak([finishing, removing]);
    const [unfinished, ...more] = await others();
    expect(more).toEqual([]);
    expect(Number(unfinished!.expiresAtMs)).toBeLessThanOrEqual(Date.now() + hourMs);
  });

  test('removes no audio of a chapter that is finished all the same', async () => {
    const { others, segments } = await speak([finishing], true);
    expect([await others(), segments]).toEqual([[], 1]);
  });

  test('leaves a whole that no job names no longer than its job', async () => {
    const { job, others } = await speak([ending]);
    const [whole, ...more] = await others();
    expect(more).toEqual([]);
    expect(Number(whole!.expiresAtMs)).toBeLessThanOrEqual(Date.parse(job.expires_at));
    expect(Number(whole!.expiresAtMs)).toBeGreaterThan(Date.now() + hourMs);
  });

  test('leaves the whole where the job has ended with it all the same', async () => {
    const { job, others, store } = await speak([ending], true);
    expect(await others()).toEqual([]);
    const sql = 'select expires_at_ms as "expiresAtMs" from clips where clip_id = $1';
    const [whole] = await store.query<{ expiresAtMs: number }>(sql, /aud_\w+/.exec(job.audio_url)![0]);
    expect(Math.abs(Number(whole!.expiresAtMs) - Date.parse(job.expires_at))).toBeLessThan(1_000);
  });
});

test('a chapter keeps its voice when the alias that it was named by moves', async () => {
  const { create, until, untilEnded, send, makeKey, tone } = await openJobsGateway({ trouble: { pieceDelayMs: 50 } });
  const headers = { 'X-API-Key': await makeKey(['voices:read', 'voices:write', 'admin']) };
  const name = async (voiceId: string, aliases: readonly string[]) => {
    const reply = await send(`/api/voices/${voiceId}`, { body: { aliases }, method: 'PATCH', headers });
    expect(reply.status).toBe(200);
  };
  await name('tone-high', ['narrator']);
  // Two parts, whose length is mostly white space, which is not spoken.
  const text = Array.from({ length: 30 }, (_, i) => `Sentence ${i} of this chapter.`).join(
    ' '.repeat(partCharsMax / 20),
  );
  const chapters = [
    { title: 'One', text },
    { title: 'Two', text: 'The end.' },
  ];
  const { id } = await create({ voice_id: 'narrator', chapters });
  await until(id, ({ progress }: JobJson) => progress.chars_done > 0);
  await name('tone-high', []);
  await name('tone-low', ['narrator']);
  tone.trouble = {};
  const job = await untilEnded(id);
  const narrators = job.chapters.map((chapter: JobJson) => chapter.voice_id);
  expect([job.status, narrators]).toEqual(['succeeded', ['tone-high', 'tone-high']]);
  expect(new Set(tone.segments.map(({ voice }) => voice.voiceId))).toEqual(new Set(['tone-high']));
});
