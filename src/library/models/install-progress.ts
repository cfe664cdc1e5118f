// Progress of one model installation: its stage, the bytes of all its files, their rate, and its result.
import type { Failure } from '../../platform/errors.ts';
import { createRecentRate } from '../../platform/recent-rate.ts';
import type { GetStage, Progress } from './get-model.ts';
import { bytesOfRow, type ModelRow, sumOfSizes } from './model-table.ts';

/** `elsewhere`: another process, such as the command line, is installing the model. */
type InstallState = GetStage | 'queued' | 'elsewhere' | 'done' | 'cancelled' | 'failed';

/** Final states of an installation. */
const endStates: readonly InstallState[] = ['done', 'cancelled', 'failed'];

export interface InstallStatus {
  state: InstallState;
  bytesDone: number;
  /** Total size; undefined while it is unknown. */
  bytesTotal: number | undefined;
  bytesPerSecond: number | undefined;
  secondsLeft: number | undefined;
  /** Unpacked share of the archive, 0 to 1. */
  unpacked: number;
  /** The reason why the installation failed. */
  failure: Failure | undefined;
}

export const isUnderWay = ({ state }: InstallStatus): boolean => !endStates.includes(state);

export interface InstallProgress {
  readonly isUnderWay: boolean;
  status(): InstallStatus;
  enter(state: GetStage): void;
  note(progress: Progress): void;
  end(state: 'done' | 'cancelled' | 'failed', failure?: Failure): void;
}

export function createInstallProgress(row: ModelRow): InstallProgress {
  const files = new Map<string, { done: number; total: number | undefined }>();
  const rate = createRecentRate();
  let state: InstallState = 'queued';
  let unpacked = 0;
  let failure: Failure | undefined;

  const bytesDone = () => files.values().reduce((sum, { done }) => sum + done, 0);
  /** The total size. Sizes that sources state are more reliable than the sizes in the table. */
  const bytesTotal = () => {
    if (files.size <= row.parts.length) return bytesOfRow(row);
    return sumOfSizes(Array.from(files.values(), ({ total }) => total));
  };
  const status = (): InstallStatus => {
    const [done, total] = [bytesDone(), bytesTotal()];
    const perSecond = state === 'downloading' ? Math.round(rate.perSecond()) : 0;
    return {
      state,
      bytesDone: done,
      bytesTotal: total === undefined ? undefined : Math.max(total, done),
      bytesPerSecond: perSecond > 0 ? perSecond : undefined,
      secondsLeft: perSecond > 0 && total !== undefined ? Math.ceil(Math.max(0, total - done) / perSecond) : undefined,
      unpacked,
      failure,
    };
  };
  return {
    get isUnderWay() {
      return isUnderWay(status());
    },
    status,
    enter(next) {
      state = next;
    },
    note({ what, done, total, unit }) {
      if (unit === 'share') unpacked = done;
      else {
        files.set(what, { done, total });
        rate.note(bytesDone());
      }
    },
    end(final, why) {
      state = final;
      failure = why;
    },
  };
}
