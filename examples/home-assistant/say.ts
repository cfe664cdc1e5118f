// Calls Sonant's Wyoming port like Home Assistant: lists the voices, speaks a whole text, and speaks it in pieces, as a
// language model writes it. Saves both results as WAV. Arguments: the address, and the text.
import { writeFile } from 'node:fs/promises';
import { connectWyoming, type WyomingEvent } from './wyoming-connection.ts';

const [address = '127.0.0.1:10200', text = 'The bed light is off. The kitchen lights are on.'] = process.argv.slice(2);

interface Voice {
  name: string;
  description: string;
  languages: string[];
}

interface Program {
  name: string;
  voices: Voice[];
  supports_synthesize_streaming: boolean;
}

/** Opens its own connection, because Home Assistant opens one for each request. */
async function describe(): Promise<Program> {
  const connection = await connectWyoming(address);
  connection.send('describe');
  for await (const { type, data } of connection.events()) {
    if (type !== 'info') continue;
    connection.close();
    return (data.tts as Program[])[0]!;
  }
  throw new Error('no info has come');
}

async function speakWhole(voice: object): Promise<WyomingEvent[]> {
  const connection = await connectWyoming(address);
  connection.send('synthesize', { text, voice });
  return collect(connection, 'audio-stop');
}

async function speakInPieces(voice: object): Promise<WyomingEvent[]> {
  const connection = await connectWyoming(address);
  connection.send('synthesize-start', { voice });
  for (const piece of text.match(/\s*\S+/g) ?? []) connection.send('synthesize-chunk', { text: piece });
  // For servers that accept no pieces, the whole text is sent again. Sonant ignores it.
  connection.send('synthesize', { text, voice });
  connection.send('synthesize-stop');
  return collect(connection, 'synthesize-stopped');
}

async function collect(connection: Awaited<ReturnType<typeof connectWyoming>>, last: string): Promise<WyomingEvent[]> {
  const events: WyomingEvent[] = [];
  for await (const event of connection.events()) {
    if (event.type === 'error') throw new Error(`${event.data.code}: ${event.data.text}`);
    events.push(event);
    if (event.type !== last) continue;
    connection.close();
    return events;
  }
  throw new Error(`the connection ended before ${last}`);
}

async function save(file: string, events: readonly WyomingEvent[]): Promise<void> {
  const { rate, width, channels } = events.find(({ type }) => type === 'audio-start')!.data as Record<string, number>;
  const audio = Buffer.concat(events.map(({ payload }) => payload));
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + audio.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels!, 22);
  header.writeUInt32LE(rate!, 24);
  header.writeUInt32LE(rate! * width! * channels!, 28);
  header.writeUInt16LE(width! * channels!, 32);
  header.writeUInt16LE(8 * width!, 34);
  header.write('data', 36);
  header.writeUInt32LE(audio.length, 40);
  await writeFile(file, Buffer.concat([header, audio]));
  console.log(`${file}: ${(audio.length / (rate! * width! * channels!)).toFixed(3)} s`);
}

const { name, voices, supports_synthesize_streaming: streams } = await describe();
console.log(`${name} ${streams ? 'streams' : 'does not stream'}, with ${voices.length} voices:`);
for (const { name: id, languages } of voices) console.log(`  ${id} (${languages.join(', ')})`);
const voice = { name: voices[0]!.name };
await save('whole.wav', await speakWhole(voice));
await save('in-pieces.wav', await speakInPieces(voice));
