// Shows the progress of a command: a bar on a terminal, otherwise a line every ten seconds. The progress includes the
// remaining time and the position in a book.

const width = 30;
const redrawMs = 100;
const lineMs = 10_000;

export function createProgressBar(
  terminal: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>,
  now: () => number = () => performance.now(),
) {
  let drawnAt: number | undefined;
  return {
    show(share: number, note: string): void {
      const nowMs = now();
      drawnAt ??= terminal.isTTY ? -redrawMs : nowMs;
      if (nowMs - drawnAt < (terminal.isTTY ? redrawMs : lineMs)) return;
      drawnAt = nowMs;
      const done = Math.round(Math.min(Math.max(share, 0), 1) * width);
      const percent = `${Math.floor(share * 100)} %`.padStart(5);
      if (!terminal.isTTY) return void terminal.write(`sonant: ${percent.trim()}, ${note}\n`);
      terminal.write(`\r\x1b[K[${'#'.repeat(done)}${'-'.repeat(width - done)}]${percent}  ${note}`);
    },
    clear(): void {
      if (terminal.isTTY) terminal.write('\r\x1b[K');
    },
  };
}

/** While less than this share is done, the rate is too uncertain for an estimate. */
const shareMin = 0.002;

/** Returns a function of (done, all) that formats the remaining time as ", 12 min left", or as "" if it is unknown. */
export function createTimeLeft(now: () => number = () => performance.now()): (done: number, all: number) => string {
  let first: { atMs: number; done: number } | undefined;
  return (done, all) => {
    first ??= { atMs: now(), done };
    const did = done - first.done;
    if (did < shareMin * all || did === 0) return '';
    return `, ${toDuration(((all - done) * (now() - first.atMs)) / did / 1000)} left`;
  };
}

export function toDuration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function createBookProgress() {
  const bar = createProgressBar(process.stderr);
  const left = createTimeLeft();
  return {
    show(job: { chars: number; charsDone: number; chaptersDone: number; chapterCount: number }): void {
      const { chars, charsDone, chaptersDone, chapterCount } = job;
      const chapter = Math.min(chaptersDone + 1, chapterCount);
      bar.show(charsDone / chars, `chapter ${chapter} of ${chapterCount}${left(charsDone, chars)}`);
    },
    clear: bar.clear,
  };
}
