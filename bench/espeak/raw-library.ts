// Runs eSpeak NG's bare library in a loop, in its own process because of the GPL. Each message contains texts; the
// answer is the CPU time in milliseconds that these texts took. No state is restored between texts, and the audio is
// copied once, as any caller must copy it.
import { openNativeCalls } from '../../src/engines/espeak-ng/espeak-library.ts';

const [flags, rateParameter, volumeParameter] = [0x1101, 1, 2];
const calls = openNativeCalls('libespeak-ng.so.1');
calls.initialize(100);
const copy = Buffer.alloc(65_536);
calls.onSound((samples, count) => {
  if (samples) copy.set(new Uint8Array(calls.memory.view(samples, 2 * count)));
  return 0;
});
calls.setVoice('gmw/en-US');
calls.setParameter(rateParameter, 175);
calls.setParameter(volumeParameter, 80);

process.on('disconnect', () => process.exit());
process.send!('ready');
process.on('message', (texts: readonly string[]) => {
  const before = process.cpuUsage();
  for (const text of texts) calls.synth(Buffer.from(`${text}\0`), flags);
  const { user, system } = process.cpuUsage(before);
  process.send!((user + system) / 1000);
});
