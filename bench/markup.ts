// Measures the effect of each SSML element on the audio, with the embedded engine, the engine of the tests, and eSpeak NG
// if it is installed. Also measures the time to refuse documents that are not well-formed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loudFrom } from '../src/audio/seam.ts';
import type { Engine } from '../src/engines/engine.ts';
import { openEspeakNg } from '../src/engines/espeak-ng/espeak-ng.ts';
import { openFlite } from '../src/engines/flite/flite.ts';
import { parseSpeechRequest } from '../src/speech/request.ts';
import { Schedule } from '../src/speech/schedule.ts';
import { createSpeech } from '../src/speech/synthesize.ts';
import { createVoices } from '../src/speech/voice.ts';
import { readSsml } from '../src/text/ssml.ts';
import { openTone } from '../test/engines/tone-engine.ts';
import { malformedDocuments } from '../test/text/malformed-ssml.ts';
import type { Bench, Cell } from './measuring/bench.ts';
import { medianPitchHz } from './measuring/pitch.ts';

const sampleRateHz = 24_000;
const documents: readonly (readonly [element: string, body: string])[] = [
  ['plain', 'Take a ripe tomato now.'],
  ['break', 'Take a ripe <break time="500ms"/> tomato now.'],
  ['p', '<p>Take a ripe</p><p>tomato now.</p>'],
  ['s', '<s>Take a ripe</s><s>tomato now.</s>'],
  ['sub', 'Take a ripe <sub alias="red pepper">tomato</sub> now.'],
  ['say-as characters', 'Take a ripe <say-as interpret-as="characters">tom</say-as> now.'],
  ['say-as date', 'Take it <say-as interpret-as="date" format="dmy">5/12/2025</say-as> now.'],
  ['say-as telephone', 'Take <say-as interpret-as="telephone">555-0199</say-as> now.'],
  ['say-as ordinal', 'Take the <say-as interpret-as="ordinal">3</say-as> now.'],
  ['phoneme ipa', 'Take a ripe <phoneme alphabet="ipa" ph="təˈmɑːtəʊ">tomato</phoneme> now.'],
  ['prosody rate', 'Take a <prosody rate="50%">ripe tomato</prosody> now.'],
  ['prosody volume', 'Take a <prosody volume="-12dB">ripe tomato</prosody> now.'],
  ['prosody pitch', '<prosody pitch="+20%">Take a ripe tomato now.</prosody>'],
  ['voice', 'Take a <voice name="other">ripe tomato</voice> now.'],
  ['lang', 'Take a <lang xml:lang="fr">ripe tomato</lang> now.'],
  ['mark', 'Take a <mark name="here"/>ripe tomato now.'],
  ['emphasis', 'Take a <emphasis level="strong">ripe</emphasis> tomato now.'],
];

async function measure(engines: readonly Engine[], voiceId: string, other: string): Promise<Cell[][]> {
  const schedule = new Schedule({ speakingMax: 1, waitingMax: 0 });
  const speech = createSpeech({ voices: createVoices(engines), schedule });
  const rows: Cell[][] = [];
  for (const [element, body] of documents) {
    const ssml = `<speak>${body.replace('"other"', `"${other}"`)}</speak>`;
    const fields = { voice_id: voiceId, language_code: 'en', ssml, timestamps: 'word', output_format: 'pcm' };
    const request = parseSpeechRequest({ ...fields, sample_rate: sampleRateHz });
    const pieces: Uint8Array[] = [];
    const heard: string[] = [];
    let warnings: readonly string[] = [];
    for await (const event of speech.streamSpeech(request, { callerId: 'bench' }, new AbortController().signal)) {
      if (event.type === 'audio') pieces.push(event.audio);
      if (event.type === 'info') warnings = event.warnings;
      if (event.type === 'mark') heard.push(`(${event.kind} ${event.name} ${event.seconds.toFixed(2)})`);
      if (event.type === 'timestamps')
        for (const { text, startSeconds } of event.words) heard.push(`${text} ${startSeconds.toFixed(2)}`);
    }
    const bytes = Buffer.concat(pieces);
    const samples = new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const pitchHz = Math.round(medianPitchHz({ samples, sampleRateHz }) || 0);
    const loud = samples.filter((sample) => Math.abs(sample) >= loudFrom());
    const level = 10 * Math.log10(loud.reduce((sum, sample) => sum + (sample / 32768) ** 2, 0) / loud.length);
    rows.push([voiceId, element, samples.length / sampleRateHz, level, pitchHz, heard.join(', '), warnings.join(' ')]);
  }
  return rows;
}

const documentCount = 300;
const tries = 3;

/** Time in milliseconds to refuse each document: the best of a few tries, to exclude other load on the machine. */
function refusalMs(): number[] {
  const malformed = malformedDocuments(documentCount);
  const refuse = (document: string): number => {
    const sinceMs = performance.now();
    try {
      readSsml(document);
    } catch {
      // The tests check the reason for the refusal.
    }
    return performance.now() - sinceMs;
  };
  for (const { document } of malformed) refuse(document);
  return malformed.map(({ document }) => Math.min(...Array.from({ length: tries }, () => refuse(document))));
}

export const bench: Bench = {
  about: 'the audible effect of each SSML element, and the time to refuse malformed documents',
  async run() {
    const dataDir = mkdtempSync(join(tmpdir(), 'sonant-bench-'));
    const espeak = await openEspeakNg();
    const engines = [await openFlite({ threads: 1 }), openTone(), ...(espeak ? [espeak] : [])];
    const rows = await measure(engines, 'clara', espeak ? 'espeak-en-us' : 'arthur');
    if (espeak) rows.push(...(await measure(engines, 'espeak-en-us', 'clara')));
    rows.push(...(await measure(engines, 'tone-low', 'tone-high')));
    for (const engine of engines) await engine.close();
    rmSync(dataDir, { recursive: true });
    const slowest = Math.max(...refusalMs());
    return {
      tables: [
        {
          title: 'seconds, level of what is not quiet in dBFS, pitch, and when each word and mark begins',
          columns: [
            { name: 'voice' },
            { name: 'element' },
            { name: 'seconds', digits: 2 },
            { name: 'level', digits: 1 },
            { name: 'pitch Hz' },
            { name: 'heard' },
            { name: 'warnings' },
          ],
          rows,
        },
      ],
      goals: [{ name: 'ms, the slowest refusal of 300 malformed documents', figure: slowest, digits: 2, max: 5 }],
    };
  },
};
