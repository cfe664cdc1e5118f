// Limits how many large request bodies are read at once, over all transports. Further requests are rejected before
// their body is read.
import { Failure } from '../errors.ts';

const uploadsMax = 8;
const retryAfterSeconds = 5;

let held = 0;

/** Takes a slot, or throws `overloaded`. Returns the function that releases the slot. */
export function takeUploadSlot(): () => void {
  if (held >= uploadsMax) {
    throw new Failure('overloaded', { message: 'Too many uploads at once; try again.', retryAfterSeconds });
  }
  held++;
  let isHeld = true;
  return () => {
    if (isHeld) held--;
    isHeld = false;
  };
}
