// Tests that if the row of the joined file cannot be added, neither the file nor its reservation stays, and the
// chapters are joined again.
import { expect, test } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { openJobsGateway } from './open-jobs.ts';

test('a file of the whole that cannot be indexed is removed with its captions', async () => {
  const { create, untilEnded, openOwnJobs, storedClips, room } = await openJobsGateway({ jobChaptersMax: 0 });
  const { index, memory } = storedClips;
  const { clips } = memory;
  const added: string[] = [];
  const failing: typeof index = {
    ...index,
    add: async (clip) => {
      added.push(clip.clipId);
      // The first is the chapter, the second the joined file.
      if (added.length === 2) throw new Failure('storage_unavailable', {});
      await index.add(clip);
    },
  };
  const reserved = new Set<object>();
  const counting: typeof room = {
    ...room,
    async reserve(request) {
      const reservation = await room.reserve(request);
      reserved.add(reservation);
      return {
        ...reservation,
        keep(byteCount) {
          reserved.delete(reservation);
          reservation.keep(byteCount);
        },
        release() {
          reserved.delete(reservation);
          reservation.release();
        },
      };
    },
  };
  const worker = openOwnJobs({ clips: { index: failing, memory }, room: counting });
  const { id } = await create({ chapters: undefined, text: 'One text.', captions: ['srt'] });
  const job = await untilEnded(id);
  await worker.close();
  expect(job.status).toBe('succeeded');
  expect(added).toHaveLength(3);
  expect(reserved.size).toBe(0);
  const stays = async (audioId: string) => {
    const stored = [await clips.open(audioId), await clips.open(audioId.replace('aud_', 'cap_'))];
    for (const each of stored) each?.body.destroy();
    return stored.map((each) => each !== undefined);
  };
  expect(await Promise.all(added.map(stays))).toEqual([
    [true, true],
    [false, false],
    [true, true],
  ]);
});
