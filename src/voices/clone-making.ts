// Makes clones of a person's voice: reads and checks the recordings, has each chosen engine make a clone, and has each
// clone speak a sentence, which proves that it works and gives its gain. Nothing is stored here.
import { createHash } from 'node:crypto';
import { gainDbFor } from '../audio/loudness.ts';
import { join, type Pcm } from '../audio/pcm.ts';
import type { Engine, Segment, SpokenPcm, Voice } from '../engines/engine.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { Schedule } from '../speech/schedule.ts';
import { type CheckedClone, type CloningEngine, checkClone } from './clone-fields.ts';
import type { ReadSamples, Samples } from './sample-reader.ts';
import { sampleTextFor } from './sample-text.ts';
import type { CloneFields } from './voice-fields.ts';

export interface MadeClone {
  engine: string;
  languageCodes: readonly string[];
  gainDb: number;
  /** What the engine speaks it from. */
  plain: Uint8Array;
}

export interface MadeClones {
  clones: readonly MadeClone[];
  /** Of the recordings, in canonical form, with a region if an engine needs one. */
  languageCode: string;
  consentScript: string;
  consentSha256: string;
  referenceSha256: string;
}

export interface CloneMakingOptions {
  engines: readonly Engine[];
  readSamples: ReadSamples;
  speak(engine: Engine, segment: Segment, signal: AbortSignal): AsyncIterable<SpokenPcm>;
}

/** What a clone is made of: the recordings as each of the chosen engines needs them. */
export interface PreparedClone extends CheckedClone {
  samples: readonly Samples<Pcm>[];
}

export interface CloneMaking {
  /** Reads the recordings, even if there are faults already, so that all faults are reported at once. */
  prepare(fields: CloneFields, faults: FieldViolation[], signal: AbortSignal): Promise<PreparedClone>;
  /** `callerId`: callers take turns at an engine that makes only so many clones per minute. */
  make(fields: CloneFields, prepared: PreparedClone, callerId: string, signal: AbortSignal): Promise<MadeClones>;
}

const canClone = (engine: Engine): engine is CloningEngine => engine.cloning !== undefined;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export function createCloneMaking({ engines, readSamples, speak }: CloneMakingOptions): CloneMaking {
  const schedule = new Schedule({ speakingMax: Infinity, waitingMax: Infinity });
  const seatOf = ({ name, cloning: { clonesPerMinute } }: CloningEngine) => ({
    engine: { name, capabilities: clonesPerMinute === undefined ? {} : { segmentsPerMinute: clonesPerMinute } },
    resource: undefined,
    isClone: false,
  });

  return {
    async prepare(fields, faults, signal) {
      const checked = checkClone(fields, engines.filter(canClone), faults);
      return { ...checked, samples: await readForEngines(fields, checked, { readSamples, faults, signal }) };
    },
    async make({ reference, consent, referenceText, name }, prepared, callerId, signal) {
      const { chosen, languageCode, consentScript, samples } = prepared;
      const clones: MadeClone[] = [];
      for (const [i, engine] of chosen.entries()) {
        const sample = { ...samples[i]!, referenceText, consentScript, languageCode };
        const turn = await schedule.turn(callerId, seatOf(engine), 'first', signal);
        const plain = await engine.cloning.make(sample, signal).finally(() => turn.end());
        const languageCodes = [...new Set([languageCode, ...engine.cloning.languageCodesFor(languageCode)])];
        const segment = toSampleSegment({ engine: engine.name, name, languageCodes }, plain);
        const gainDb = await measureGain(speak(engine, segment, signal));
        clones.push({ engine: engine.name, languageCodes, gainDb, plain });
      }
      return {
        clones,
        languageCode,
        consentScript,
        consentSha256: sha256(consent),
        referenceSha256: sha256(reference),
      };
    },
  };
}

interface Reading {
  readSamples: ReadSamples;
  faults: FieldViolation[];
  signal: AbortSignal;
}

async function readForEngines(
  { reference, consent }: CloneFields,
  { chosen, consentScript }: CheckedClone,
  { readSamples, faults, signal }: Reading,
): Promise<Samples<Pcm>[]> {
  const samples: Samples<Pcm>[] = [];
  const isSent = reference.length > 0 && consent.length > 0;
  for (const { cloning } of isSent ? chosen : []) {
    const wanted = { ...cloning, consentSecondsMin: secondsToSay(consentScript) };
    try {
      samples.push(await readSamples({ reference, consent }, wanted, signal));
    } catch (error) {
      if (!(error instanceof Failure) || !error.facts.details) throw error;
      faults.push(...error.facts.details);
      break;
    }
  }
  return samples;
}

/** The shortest time in which a very fast speaker says it. */
const secondsToSay = (script: string): number => Math.max(1, (script.match(/[\p{L}\p{N}]/gu)?.length ?? 0) / 30);

function toSampleSegment(
  { engine, name, languageCodes }: Pick<Voice, 'engine' | 'name' | 'languageCodes'>,
  clone: Uint8Array,
): Segment {
  const [languageCode = ''] = languageCodes;
  const voice: Voice = {
    voiceId: 'clone',
    name,
    description: '',
    kind: 'cloned',
    engine,
    languageCodes,
    labels: {},
    version: '1',
    gainDb: 0,
  };
  const text = sampleTextFor(languageCode);
  return { voice, text, languageCode, speakingRate: 1, timings: false, urgent: true, clone };
}

/** The gain that brings the clone to the standard loudness. */
async function measureGain(spoken: AsyncIterable<SpokenPcm>): Promise<number> {
  const pieces = await Array.fromAsync(spoken);
  const [first] = pieces;
  if (!first) throw new Failure('engine_error', {}, new Error('the clone says nothing'));
  const samples = join(
    Int16Array,
    pieces.map((piece) => piece.samples),
  );
  return gainDbFor({ ...first, samples });
}
