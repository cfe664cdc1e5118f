// A fault in the sound itself: it is clipped, silent, not made of numbers, or far too long or too short for its text. As the
// cause of an `engine_error` it has the guard speak the segment once more, where nothing of it was heard.
import { Failure } from '../errors.ts';

class SoundFault extends Error {}

export const soundFault = (message: string): Failure => new Failure('engine_error', {}, new SoundFault(message));

export const isSoundFault = (error: unknown): boolean => error instanceof Failure && error.cause instanceof SoundFault;
