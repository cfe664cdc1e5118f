// A progress bar on a terminal; in a pipe, nothing.

export interface ProgressBar {
  show(share: number, note: string): void;
  clear(): void;
}

const width = 30;
const redrawMs = 100;

export function createProgressBar(terminal: NodeJS.WriteStream): ProgressBar {
  if (!terminal.isTTY) return { show() {}, clear() {} };
  let drawnAt = -redrawMs;
  return {
    show(share, note) {
      const now = performance.now();
      if (now - drawnAt < redrawMs) return;
      drawnAt = now;
      const done = Math.round(Math.min(Math.max(share, 0), 1) * width);
      const percent = `${Math.floor(share * 100)} %`.padStart(5);
      terminal.write(`\r\x1b[K[${'#'.repeat(done)}${'-'.repeat(width - done)}]${percent}  ${note}`);
    },
    clear: () => void terminal.write('\r\x1b[K'),
  };
}
