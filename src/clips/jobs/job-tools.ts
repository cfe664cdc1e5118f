// Defines the services that the job workers share.
import type { Accounts, KeyCaller } from '../../accounts.ts';
import type { Speech } from '../../speech.ts';
import type { ClipRoom } from '../clip-room.ts';
import type { ClipRows } from '../clip-rows.ts';
import type { OpenSigner } from '../provenance/places.ts';
import type { ClipStore } from '../stores/clip-store.ts';
import type { JobRow, JobRows } from './job-rows.ts';

export interface JobTools {
  rows: JobRows;
  speech: Pick<Speech, 'plan' | 'speakKept'>;
  clips: ClipStore;
  index: Pick<ClipRows, 'add' | 'find' | 'markDeleted' | 'markPurged' | 'expireAt'>;
  room: Pick<ClipRoom, 'reserve' | 'noteRemoved'>;
  limiter: Pick<Accounts['limiter'], 'takeSynthesis'>;
  /** Returns the owner of a job, with the present permissions of its key. Throws a Failure if the key is not valid. */
  findCaller(job: Pick<JobRow, 'ownerId' | 'address'>): Promise<KeyCaller>;
  /** Signs finished files. Default: files have no manifest. */
  openSigner?: OpenSigner | undefined;
  /** Default time for which a job and its audio are kept. */
  keepMs: number;
  /** Name of this process in leases. */
  holder: string;
  /** Called with errors that no caller receives. */
  onFault(fault: unknown): void;
}
