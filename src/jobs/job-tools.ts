// What those who work on jobs share.
import type { Limited, Limiter } from '../access/limiter.ts';
import type { ClipRoom } from '../delivery/clip-room.ts';
import type { ClipStore } from '../delivery/stores/clip-store.ts';
import type { Caller } from '../speech/request.ts';
import type { Speech } from '../speech/synthesize.ts';
import type { ClipRows } from '../store/clip-rows.ts';
import type { JobRow, JobRows } from '../store/job-rows.ts';

/** Whose job it is, as the key is at present. */
export type JobCaller = Caller & Limited & { accountId: string };

export interface JobTools {
  rows: JobRows;
  speech: Pick<Speech, 'plan' | 'speakKept'>;
  clips: ClipStore;
  index: Pick<ClipRows, 'add' | 'find' | 'markDeleted' | 'markPurged' | 'expireAt'>;
  room: Pick<ClipRoom, 'reserve' | 'noteRemoved'>;
  limiter: Pick<Limiter, 'takeSynthesis'>;
  /** The caller of a job; a Failure where its key is not in force any more. */
  findCaller(job: Pick<JobRow, 'ownerId' | 'address'>): Promise<JobCaller>;
  /** How long audio is kept where a job says nothing. */
  keepMs: number;
  /** The name under which leases are held. */
  holder: string;
  /** Takes errors that no caller gets. */
  onFault(fault: unknown): void;
}
