// A fault in a book: a stable reason, and a message for the person who provided the book. The message is a predicate
// that follows the words "The book".

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
