// What a live turn holds while it is spoken: a slot of the service from the text of a part to the end of its sound; and a
// place of the caller's, which is kept until the text no longer goes on, so that other requests of the caller do not stop a
// turn in its middle.
import type { Release } from '../concurrency/slot-queue.ts';
import type { LivePlace } from './live-plan.ts';
import type { LiveText } from './live-text.ts';

/** How long the place of a turn of which nothing is spoken is kept, however slowly its text goes on. */
const placeKeptMsMax = 10_000;

export function createTurnPlace(text: LiveText, place: LivePlace, takeSlot: () => Promise<Release>) {
  let release: Release | undefined;
  let taken = 0;
  let done = 0;
  let resting: NodeJS.Timeout | undefined;
  const isCaughtUp = () => done === taken && !text.hasPart(taken);
  const rest = () => {
    clearTimeout(resting);
    if (isCaughtUp()) place.rest();
  };
  const giveBack = () => {
    release?.();
    release = undefined;
  };
  text.onQuiet = rest;
  return {
    /** Once for each part, whichever engine speaks it. */
    async take(index: number, chars: number): Promise<void> {
      release ??= await takeSlot();
      if (index < taken) return;
      taken++;
      clearTimeout(resting);
      await place.take(chars);
    },
    partDone(): void {
      done++;
      if (!isCaughtUp()) return;
      giveBack();
      if (text.isQuiet) rest();
      else resting = setTimeout(rest, placeKeptMsMax).unref();
    },
    close(): void {
      giveBack();
      clearTimeout(resting);
      place.rest();
    },
  };
}
