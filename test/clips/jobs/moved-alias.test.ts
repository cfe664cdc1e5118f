// Tests that if an alias moves to another voice while a job runs, each chapter keeps the voice that the job shows.
import { expect, test } from 'vitest';
import { partCharsMax } from '../../../src/clips/jobs/job-limits.ts';
import { type JobJson, openJobsGateway } from './open-jobs.ts';

test('a chapter keeps its voice when the alias that it was named by moves', { timeout: 180_000 }, async () => {
  const { create, until, untilEnded, send, makeKey, tone } = await openJobsGateway({ trouble: { pieceDelayMs: 5 } });
  const headers = { 'X-API-Key': await makeKey(['voices:read', 'voices:write', 'admin']) };
  const name = async (voiceId: string, aliases: readonly string[]) => {
    const reply = await send(`/api/voices/${voiceId}`, { body: { aliases }, method: 'PATCH', headers });
    expect(reply.status).toBe(200);
  };
  await name('tone-high', ['narrator']);
  const text = Array.from({ length: partCharsMax / 20 }, (_, i) => `Sentence ${i} of this chapter.`).join(' ');
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
