// The recordings that come with a model for cloning, in its folder `test_wavs/`: the model speaks with their voices. If
// the model needs transcripts, `test_wavs/prompt.txt` has a line for each recording. Recordings without a line are left
// out:
//     NAME.wav TEXT      or with "|", ":" or a tab between; ".wav" may be missing
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeRecording, recordingBytesMax } from '../../audio.ts';
import { Failure } from '../../platform/errors.ts';
import type { Model, VoiceSample } from './model.ts';
import type { Reference } from './reference.ts';

const samplesFolder = 'test_wavs';
const transcriptsName = 'prompt.txt';
const samplesMax = 100;
const transcriptBytesMax = 1_048_576;
const recordingSecondsMax = 600;
/** Longest part of a recording that a model without transcripts uses; other models use the whole recording. */
const usedSeconds = 10;

const noTexts: ReadonlyMap<string, string> = new Map();

export async function findSamples(folder: string, needsText: boolean): Promise<VoiceSample[]> {
  const inside = join(folder, samplesFolder);
  const names = await readdir(inside).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  const texts = names.includes(transcriptsName) ? await readTranscripts(join(inside, transcriptsName)) : noTexts;
  const samples: VoiceSample[] = [];
  for (const file of names.filter((each) => /\.wav$/i.test(each)).sort()) {
    const name = file.slice(0, -4);
    const path = join(inside, file);
    const text = texts.get(name) ?? '';
    const found = await stat(path);
    const isUsable = found.isFile() && found.size <= recordingBytesMax && (text !== '' || !needsText);
    if (isUsable && samples.length < samplesMax) samples.push({ name, path, text: needsText ? text : '' });
  }
  return samples;
}

async function readTranscripts(path: string): Promise<Map<string, string>> {
  if ((await stat(path)).size > transcriptBytesMax) return new Map();
  const lines = (await readFile(path, 'utf8')).split(/\r?\n/);
  return new Map(
    lines.flatMap((line): [string, string][] => {
      const [, name, text] = /^([^\s|:]+)(?:\s*[|:]|\s)\s*(\S.*)$/.exec(line.trim()) ?? [];
      return name && text ? [[name.replace(/\.wav$/i, ''), text]] : [];
    }),
  );
}

const read = new WeakMap<VoiceSample, Promise<Reference>>();

/** The recording as a reference for the model. The file is read once. */
export function referenceOf({ modelId }: Model, sample: VoiceSample): Promise<Reference> {
  const known = read.get(sample);
  if (known) return known;
  const reading = readReference(modelId, sample).catch((error: unknown) => {
    read.delete(sample);
    throw new Failure('engine_unavailable', {}, error);
  });
  read.set(sample, reading);
  return reading;
}

async function readReference(modelId: string, { path, text }: VoiceSample): Promise<Reference> {
  const recording = await decodeRecording(await readFile(path), { secondsMax: recordingSecondsMax });
  const { sampleRateHz } = recording;
  const used = text === '' ? recording.samples.subarray(0, usedSeconds * sampleRateHz) : recording.samples;
  const samples = Int16Array.from(used, (value) => Math.round(Math.max(-1, Math.min(1, value)) * 32_767));
  return { modelId, samples, sampleRateHz, text };
}
