// The caller of an operation, as far as speech needs to know it.

/** The permissions that determine which voices a caller may use. */
export interface VoiceUser {
  /** Ids of the only usable voices; undefined if voices are not restricted by id. */
  voiceIds?: readonly string[] | undefined;
  /** Account whose private voices are usable; undefined if there is none. */
  accountId?: string | undefined;
  /** Whether the private voices of all accounts are usable. */
  usesAllVoices?: boolean | undefined;
}

/** The admitted caller, which determines the place in the queue, the account to charge and the usable voices. */
export interface Caller extends VoiceUser {
  callerId: string;
  /**
   * Time after which the caller no longer needs the response, on the clock of `performance.now`. Absent if the caller
   * stated no deadline.
   */
  deadlineMs?: number | undefined;
}
