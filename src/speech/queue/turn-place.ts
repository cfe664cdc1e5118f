// What a live turn holds while it is spoken: a slot of the service from the text of a part to the end of its sound; and a
// place of the caller's, which is kept until the text no longer goes on, so that other requests of the caller do not stop a
// turn in its middle.
import type { LivePlace } from '../live-plan.ts';
import type { LiveText } from '../live-text.ts';
import type { Slot } from './slot-lanes.ts';

/** How long the place of a turn of which nothing is spoken is kept, however slowly its text goes on. */
const placeKeptMsMax = 10_000;

export function createTurnPlace(text: LiveText, place: LivePlace, takeSlot: (chars: number) => Promise<Slot>) {
  let release: Slot | undefined;
  let isClosed = false;
  /** Of each part, whichever engines speak it. */
  const parts: Promise<void>[] = [];
  let done = 0;
  let resting: NodeJS.Timeout | undefined;
  const isCaughtUp = () => done === parts.length && !text.hasPart(parts.length);
  const rest = () => {
    clearTimeout(resting);
    if (isCaughtUp()) place.rest();
  };
  const giveBack = () => {
    release?.();
    release = undefined;
  };
  const takePart = async (chars: number) => {
    clearTimeout(resting);
    release ??= await takeSlot(chars);
    if (isClosed) {
      giveBack();
      throw new Error('the turn is over');
    }
    await place.take(chars);
  };
  text.onQuiet = rest;
  return {
    /** Admits a part, once; each engine that speaks it waits for that. */
    take(index: number, chars: number): Promise<void> {
      parts[index] ??= takePart(chars);
      return parts[index];
    },
    /** The sound of a part is there. */
    heard(engine: string): void {
      release?.heard(engine);
    },
    partDone(): void {
      done++;
      if (!isCaughtUp()) return;
      giveBack();
      if (text.isQuiet) rest();
      else resting = setTimeout(rest, placeKeptMsMax).unref();
    },
    close(): void {
      isClosed = true;
      giveBack();
      clearTimeout(resting);
      place.rest();
    },
  };
}
