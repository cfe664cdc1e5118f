// The voices that one request speaks with, each opened when it is first needed: its clone is decrypted, and its engine keeps
// it until the request ends.
import type { Binding } from './voice.ts';

export function openBindings() {
  const opened = new Map<Binding, Promise<Uint8Array | undefined>>();
  const ready = new Map<Binding, { clone: Uint8Array | undefined }>();
  const releases: (() => void)[] = [];
  let isClosed = false;
  const openBinding = async (binding: Binding) => {
    const { engine, speaker } = binding;
    const clone = await binding.openClone?.();
    const release = engine.keep?.(speaker, clone);
    if (isClosed) release?.();
    else if (release) releases.push(release);
    ready.set(binding, { clone });
    return clone;
  };
  return {
    /** What is open already. */
    ready: (binding: Binding) => ready.get(binding),
    /** The clone, if it is one. */
    open(binding: Binding): Promise<Uint8Array | undefined> {
      const opening = opened.get(binding) ?? openBinding(binding);
      // A failure is thrown where it is awaited.
      opening.catch(() => {});
      opened.set(binding, opening);
      return opening;
    },
    close(): void {
      isClosed = true;
      for (const release of releases.splice(0)) release();
    },
  };
}
