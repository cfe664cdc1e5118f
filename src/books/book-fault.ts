// A fault of a book, for the person who provided it: a sentence that continues the name of the book, and a stable
// reason.

export type BookFaultReason =
  | 'empty'
  | 'encrypted'
  | 'damaged'
  | 'format'
  | 'too_large'
  | 'too_deep'
  | 'too_slow'
  | 'unreadable';

export class BookFault extends Error {
  readonly reason: BookFaultReason;

  constructor(reason: BookFaultReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
