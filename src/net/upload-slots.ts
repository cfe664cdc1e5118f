// How many large bodies are read at once, whichever door they come through: further ones are told to come back, before a
// byte of them is read.
import { Failure } from '../errors.ts';

const uploadsMax = 8;
const retryAfterSeconds = 5;

let held = 0;

/** Takes a place until the function that it answers is called, or fails with `overloaded`. */
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
