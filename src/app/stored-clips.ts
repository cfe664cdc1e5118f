// Stored sound as every part of the service shares it: the rows of the clips, their bytes in the store and in memory, and
// word of clips that end before their time.
import { type ClipMemory, createClipMemory } from '../delivery/clip-memory.ts';
import { type ClipRows, createClipRows } from '../store/clip-rows.ts';
import type { RowStore } from '../store/row-store.ts';
import type { OpenedClips } from './open-clips.ts';

export interface StoredClips {
  index: ClipRows;
  memory: ClipMemory;
  linkTo: OpenedClips['linkTo'];
  /** Calls the listener at once when this process ends clips before their time, and soon after another does. */
  onEnded(listener: () => void): () => void;
}

export function openStoredClips(store: RowStore, { clips, linkTo }: OpenedClips): StoredClips {
  const listeners = new Set<() => void>();
  const onEnded = () => {
    for (const listener of listeners) listener();
  };
  return {
    index: createClipRows(store, { onEnded }),
    memory: createClipMemory(clips),
    linkTo,
    onEnded(listener) {
      listeners.add(listener);
      const stop = store.listen('clips', listener);
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
  };
}
