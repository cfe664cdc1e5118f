// Makes every call of calls.ts to a running Sonant, through both plugins and without a room. Prints a line for each
// call, and the number of passed calls. In between, asks for a restart and waits for a line of input.
import { createInterface } from 'node:readline';
import { initializeLogger } from '@livekit/agents';
import { calls, cartesiaCalls, elevenLabsCalls, speakOverRestart } from './calls.ts';
import { openCartesia, openElevenLabs } from './speech.ts';

initializeLogger({ pretty: false, level: process.env.LOG_LEVEL ?? 'silent' });
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
let tried = 0;
let passed = 0;

async function attempt(name: string, call: () => Promise<void>): Promise<void> {
  tried++;
  try {
    await call();
    passed++;
    console.log(`ok      ${name}`);
  } catch (error) {
    console.log(`FAILED  ${name}: ${(error as Error).stack}`);
  }
}

/** Waits until the user has restarted Sonant on the same port and pressed Enter. */
async function restart(): Promise<void> {
  console.log('Restart Sonant, then press Enter.');
  await lines.next();
}

for (const [plugin, open, own] of [
  ['cartesia', openCartesia, cartesiaCalls],
  ['elevenlabs', openElevenLabs, elevenLabsCalls],
] as const) {
  for (const [name, call] of Object.entries(calls))
    await attempt(`${plugin}: ${name}`, async () => {
      const speech = open();
      // Without a listener, an 'error' event would end the process.
      speech.on('error', () => {});
      await call(speech);
      await speech.close();
    });
  for (const [name, call] of Object.entries(own)) await attempt(`${plugin}: ${name}`, call);
  await attempt(`${plugin}: connects again after a restart`, async () => {
    const speech = open();
    speech.on('error', () => {});
    await speakOverRestart(speech, restart);
    await speech.close();
  });
}
console.log(`passed ${passed} of ${tried}`);
process.exit(passed === tried ? 0 : 1);
