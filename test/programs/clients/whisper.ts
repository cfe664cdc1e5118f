// Starts a transcription server with Whisper tiny (whisper_server.py), which hears English.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { findPython } from './client-programs.ts';

export interface Whisper {
  url: string;
  close(): void;
}

/** Undefined if the packages cannot be installed. */
export async function openWhisper(): Promise<Whisper | undefined> {
  const python = findPython('whisper.txt');
  if (!python) return undefined;
  const program = join(import.meta.dirname, 'whisper_server.py');
  const child = spawn(python, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  return { url: `http://127.0.0.1:${line.toString().trim()}/v1`, close: () => void child.kill() };
}
