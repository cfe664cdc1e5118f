// Lets the doors of the service drain, all at once, and is over when each has, well or not: what they stand on is closed
// then.

interface Door {
  drain(timeoutMs: number): Promise<void>;
}

export async function drainDoors(
  doors: readonly Door[],
  timeoutMs: number,
  onFault: (fault: unknown) => void,
): Promise<void> {
  const ends = await Promise.allSettled(doors.map((door) => door.drain(timeoutMs)));
  for (const end of ends) if (end.status === 'rejected') onFault(end.reason);
}
