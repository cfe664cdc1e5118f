// A bell that one waits for: it is heard also by who comes just after it has rung.

export function createBell() {
  let hasRung = false;
  let wake = () => {};
  return {
    ring(): void {
      hasRung = true;
      wake();
    },
    /** Resolves when it rings, or has rung since it was last waited for, or after so long. */
    async rung(waitMs: number): Promise<void> {
      if (!hasRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, waitMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      hasRung = false;
    },
  };
}
