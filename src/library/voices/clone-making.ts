// Clones a person's voice. Each chosen engine creates a clone from the checked recordings. Each clone then speaks a
// sentence, which tests the clone and determines its gain. Nothing is stored here.
import { createHash } from 'node:crypto';
import { gainDbFor } from '../../audio.ts';
import type { Cloning, Engine, Segment, SpokenPcm, Voice } from '../../engines.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { isSpokenBy, languageOf } from '../../platform/language-code.ts';
import { joinPcm, type Pcm } from '../../platform/pcm.ts';
import type { Speech } from '../../speech.ts';
import type { ReadSamples, Samples } from './sample-reader.ts';
import { type CloneFields, checkLanguage, faultTo } from './voice-fields.ts';
import { sampleTextFor } from './voice-preview.ts';

export interface MadeClone {
  engine: string;
  languageCodes: readonly string[];
  gainDb: number;
  /** The clone's data, unencrypted. */
  plain: Uint8Array;
}

export interface MadeClones {
  clones: readonly MadeClone[];
  /** Language of the recordings in canonical form, with a region if an engine needs one. */
  languageCode: string;
  consentScript: string;
  consentSha256: string;
  referenceSha256: string;
}

interface CloneMakingOptions {
  engines: readonly Engine[];
  readSamples: ReadSamples;
  speech: Pick<Speech, 'turnToClone' | 'speakClone'>;
}

/** The input of a clone: the recordings in the form that each chosen engine needs. */
export interface PreparedClone extends CheckedClone {
  samples: readonly Samples<Pcm>[];
}

export type CloneMaking = ReturnType<typeof createCloneMaking>;

const canClone = (engine: Engine): engine is CloningEngine => engine.cloning !== undefined;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export function createCloneMaking({ engines, readSamples, speech }: CloneMakingOptions) {
  return {
    /** Checks the recordings even if there are other faults, so that all faults are reported at once. */
    async prepare(fields: CloneFields, faults: FieldViolation[], signal: AbortSignal): Promise<PreparedClone> {
      const checked = checkClone(fields, engines.filter(canClone), faults);
      return { ...checked, samples: await readForEngines(fields, checked, { readSamples, faults, signal }) };
    },
    /** Callers, identified by `callerId`, take turns at an engine that limits clones per minute. */
    async make(
      { referenceAudio, consentAudio, referenceText, name }: CloneFields,
      prepared: PreparedClone,
      callerId: string,
      signal: AbortSignal,
    ): Promise<MadeClones> {
      const { chosen, languageCode, consentScript, samples } = prepared;
      const clones: MadeClone[] = [];
      const makeAt = async (engine: CloningEngine, pcm: Samples<Pcm>) => {
        const sample = { ...pcm, referenceText, consentScript, languageCode };
        const turn = await speech.turnToClone(engine, callerId, signal);
        const plain = await engine.cloning.make(sample, signal).finally(() => turn.end());
        const languageCodes = [...new Set([languageCode, ...engine.cloning.languageCodesFor(languageCode)])];
        const clone: MadeClone = { engine: engine.name, languageCodes, gainDb: 0, plain };
        clones.push(clone);
        const segment = toSampleSegment({ engine: engine.name, name, languageCodes }, plain);
        clone.gainDb = await measureGain(speech.speakClone(engine, segment, signal));
      };
      try {
        for (const [i, engine] of chosen.entries()) await makeAt(engine, samples[i]!);
      } catch (error) {
        await forgetClones(clones, engines);
        throw error;
      }
      return {
        clones,
        languageCode,
        consentScript,
        consentSha256: sha256(consentAudio),
        referenceSha256: sha256(referenceAudio),
      };
    },
  };
}

/** Makes engines delete their remote copies of clones that are not stored. */
export async function forgetClones(clones: readonly MadeClone[], engines: readonly Engine[]): Promise<void> {
  const engineOf = (clone: MadeClone) => engines.find(({ name }) => name === clone.engine);
  await Promise.allSettled(clones.map((clone) => engineOf(clone)?.cloning?.forget?.(clone.plain)));
}

interface Reading {
  readSamples: ReadSamples;
  faults: FieldViolation[];
  signal: AbortSignal;
}

async function readForEngines(
  { referenceAudio: reference, consentAudio: consent }: CloneFields,
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

/** Seconds in which a very fast speaker can read the script. */
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

/** Returns the gain that brings the clone to the standard loudness. */
async function measureGain(spoken: AsyncIterable<SpokenPcm>): Promise<number> {
  const sound = joinPcm(await Array.fromAsync(spoken));
  if (!sound) throw new Failure('engine_error', {}, new Error('the clone generated no audio'));
  return gainDbFor(sound);
}

type CloningEngine = Engine & { cloning: Cloning };

interface CheckedClone {
  chosen: readonly CloningEngine[];
  /** Language of the recordings in canonical form, with a region if an engine needs one. */
  languageCode: string;
  consentScript: string;
}

/** The consent script if neither the engine nor the caller provides one. */
const defaultScript = 'I am the owner of this voice, and I agree that it is cloned and used to speak here.';

function checkClone(fields: CloneFields, engines: readonly CloningEngine[], faults: FieldViolation[]): CheckedClone {
  const fault = faultTo(faults);
  const given = checkLanguage('language_code', fields.languageCode, fault) ?? '';
  const chosen = given === '' && engines.length > 0 ? [] : chooseEngines(fields, given, engines, faults);
  const languageCode = inRegion(given, chosen);
  const consentScript = scriptFor(fields, languageCode, chosen, faults);
  if (chosen.some(({ cloning }) => cloning.needsReferenceText) && fields.referenceText.trim() === '')
    fault('reference_text', 'required', 'is required: the engine needs the transcript of reference_audio');
  const { referenceAudio: reference, consentAudio: consent } = fields;
  if (consent.length > 0 && Buffer.compare(reference, consent) === 0)
    fault('consent_audio', 'conflict', 'must not be the same recording as reference_audio');
  return { chosen, languageCode, consentScript };
}

function chooseEngines(
  { engines: names }: CloneFields,
  languageCode: string,
  engines: readonly CloningEngine[],
  faults: FieldViolation[],
): CloningEngine[] {
  const fault = faultTo(faults);
  if (engines.length === 0) {
    fault(
      'engines',
      'unsupported',
      'no configured engine can clone a voice; GET /api/cloning lists the cloning engines',
    );
    return [];
  }
  const speaks = ({ cloning }: CloningEngine) =>
    isSpokenBy({ languageCodes: cloning.sampleLanguageCodes }, languageCode);
  if (names.length === 0) {
    const first = engines.find(speaks);
    const spoken = [...new Set(engines.flatMap(({ cloning }) => cloning.sampleLanguageCodes))].join(', ');
    if (!first)
      fault('language_code', 'unsupported_language', `must be a language that an engine can clone: ${spoken}`);
    return first ? [first] : [];
  }
  const known = engines.map(({ name }) => name);
  return [...new Set(names)].flatMap((name) => {
    const found = engines.find((engine) => engine.name === name);
    if (!found) {
      fault('engines', 'enum', `must be an engine that can clone: ${known.join(', ')}`, known);
      return [];
    }
    const languages = found.cloning.sampleLanguageCodes.join(', ');
    if (!speaks(found))
      fault('language_code', 'unsupported_language', `must be a language that ${name} can clone: ${languages}`);
    return [found];
  });
}

/** Adds a region to a bare language if a chosen engine accepts the language only with a region. */
function inRegion(languageCode: string, chosen: readonly CloningEngine[]): string {
  const codes = chosen.flatMap(({ cloning: { sampleLanguageCodes } }) =>
    sampleLanguageCodes.includes(languageCode)
      ? []
      : (sampleLanguageCodes.find((code) => code.startsWith(`${languageCode}-`)) ?? []),
  );
  return codes[0] ?? languageCode;
}

/** Returns the sentence that the person must read: an engine's script, or else the given or default script. */
function scriptFor(
  { consentScript: given }: CloneFields,
  languageCode: string,
  chosen: readonly CloningEngine[],
  faults: FieldViolation[],
): string {
  const fault = faultTo(faults);
  const required = chosen.flatMap(({ cloning }) => scriptIn(cloning.consentScripts, languageCode) ?? []);
  const [first] = required;
  if (first !== undefined) {
    if (given !== '' && given !== first) fault('consent_script', 'enum', `must be: ${first}`, [first]);
    return first;
  }
  if (chosen.length === 0) return given;
  const isEnglish = isSpokenBy({ languageCodes: ['en'] }, languageCode);
  if (given === '' && !isEnglish) fault('consent_script', 'required', 'is required: the words spoken in consent_audio');
  return given === '' ? defaultScript : given;
}

/** Returns the script for this language and region, or else for any region of the language. */
function scriptIn(scripts: Readonly<Record<string, string>>, languageCode: string): string | undefined {
  const wanted = languageCode.toLowerCase();
  const entries = Object.entries(scripts).map(([code, script]) => [code.toLowerCase(), script] as const);
  const exact = entries.find(([code]) => code === wanted);
  return (exact ?? entries.find(([code]) => languageOf(code) === languageOf(wanted)))?.[1];
}
