// Watches a folder that may not be there yet, or may be on a file system that reports nothing: whoever needs to see every
// change also looks at it from time to time, and calls `ensure`.
import { type FSWatcher, watch } from 'node:fs';

/** Several files change at once. */
const quietMs = 100;

export function watchFolder(folder: string, onChange: () => void) {
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  const drop = () => {
    watcher?.close();
    watcher = undefined;
  };
  return {
    /** Watches the folder, unless it is watched already. */
    ensure(): void {
      if (watcher) return;
      try {
        watcher = watch(folder, { persistent: false }, () => {
          clearTimeout(timer);
          timer = setTimeout(onChange, quietMs).unref();
        });
        watcher.on('error', drop);
      } catch {
        // It is not there, or the system has no more watches.
        drop();
      }
    },
    close(): void {
      clearTimeout(timer);
      drop();
    },
  };
}
