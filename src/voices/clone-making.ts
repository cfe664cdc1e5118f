// A person becomes a voice: the recordings are read and judged, each engine that is to speak it makes a clone, and each
// clone says a sentence, to be known to work and brought to the house loudness. Nothing is kept here; who asked keeps it.
import { createHash } from 'node:crypto';
import { join } from '../audio/join.ts';
import { gainDbFor } from '../audio/loudness.ts';
import type { Pcm } from '../audio/pcm.ts';
import type { CloneSample, Cloning, Engine, Segment, SpokenPcm, Voice } from '../engines/engine.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { createEngineQuota } from '../speech/engine-quota.ts';
import { isSpokenBy } from '../speech/voice.ts';
import type { ReadSamples, Samples as SamplesOf } from './sample-reader.ts';
import { sampleTextFor } from './sample-text.ts';
import {
  bindingsMax,
  type CloneFields,
  checkLabels,
  checkLanguage,
  checkName,
  checkText,
  checkVoiceId,
  faultTo,
} from './voice-fields.ts';

export interface MadeClone {
  engine: string;
  languageCodes: readonly string[];
  gainDb: number;
  /** What it is spoken from. */
  plain: Uint8Array;
}

export interface MadeClones {
  clones: readonly MadeClone[];
  /** Of the recordings, in canonical form, with its region where the engine knows no other. */
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

export interface Making {
  /** Whose turn is taken where engines make so many in a minute and no more. */
  callerId: string;
  /** What is wrong already, to be told with all else that is. */
  faults: readonly FieldViolation[];
  signal: AbortSignal;
}

export type MakeClones = (asked: CloneFields, making: Making) => Promise<MadeClones>;

/** What is said where the engine does not listen to it, and the caller says nothing else. */
const usualScript = 'I am the owner of this voice, and I agree that it is cloned and spoken with here.';

type Samples = SamplesOf<Pcm>;
type Cloner = Engine & { cloning: Cloning };
const canClone = (engine: Engine): engine is Cloner => engine.cloning !== undefined;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export function createCloneMaking({ engines, readSamples, speak }: CloneMakingOptions): MakeClones {
  const cloners = engines.filter(canClone);

  const tryOut = async (engine: Engine, voice: Voice, clone: Uint8Array, signal: AbortSignal) => {
    const [languageCode] = voice.languageCodes;
    const text = sampleTextFor(languageCode!);
    const segment = { voice, text, languageCode: languageCode!, speakingRate: 1, timings: false, urgent: true, clone };
    const heard = await Array.fromAsync(speak(engine, segment, signal));
    const [first] = heard;
    if (!first) throw new Failure('engine_error', {}, new Error('the clone says nothing'));
    return gainDbFor({
      ...first,
      samples: join(
        Int16Array,
        heard.map(({ samples }) => samples),
      ),
    });
  };

  const governors = new Map(
    cloners.flatMap(({ name, cloning: { clonesPerMinute } }) =>
      clonesPerMinute === undefined ? [] : [[name, createEngineQuota({ segmentsPerMinute: clonesPerMinute })]],
    ),
  );
  const make = async (engine: Cloner, sample: CloneSample, callerId: string, signal: AbortSignal) => {
    const giveBack = await governors.get(engine.name)?.take({ callerId, urgent: true, signal });
    return engine.cloning.make(sample, signal).finally(giveBack);
  };

  /** Listens too where something else is wrong already, so that every fault is told at once. */
  const listen = async (asked: CloneFields, { chosen, consentScript }: CheckedClone, { faults, signal }: Making) => {
    const { reference, consent } = asked;
    const samples: Samples[] = [];
    const details = [...faults];
    const isSent = reference.length > 0 && consent.length > 0;
    for (const { cloning } of isSent ? chosen : []) {
      const wanted = { ...cloning, consentSecondsMin: secondsToSay(consentScript) };
      try {
        samples.push(await readSamples({ reference, consent }, wanted, signal));
      } catch (error) {
        if (!(error instanceof Failure) || !error.facts.details) throw error;
        details.push(...error.facts.details);
        break;
      }
    }
    if (details.length > 0) throw new Failure('invalid_request', { details });
    return samples;
  };

  return async (asked, { callerId, faults, signal }) => {
    const checked = checkClone(asked, cloners);
    const { chosen, languageCode, consentScript } = checked;
    const { reference, consent, referenceText, name } = asked;
    const all = [...faults, ...checked.faults];
    const samples = await listen(asked, checked, { callerId, faults: all, signal });
    const clones: MadeClone[] = [];
    for (const [i, engine] of chosen.entries()) {
      const plain = await make(
        engine,
        { ...samples[i]!, referenceText, consentScript, languageCode },
        callerId,
        signal,
      );
      const languageCodes = [...new Set([languageCode, ...engine.cloning.languageCodesFor(languageCode)])];
      const voice = {
        ...{ voiceId: 'clone', name, description: '', kind: 'cloned' as const, engine: engine.name },
        ...{ languageCodes, labels: {}, version: '1', gainDb: 0 },
      };
      const gainDb = await tryOut(engine, voice, plain, signal);
      clones.push({ engine: engine.name, languageCodes, gainDb, plain });
    }
    const hashes = { consentSha256: sha256(consent), referenceSha256: sha256(reference) };
    return { clones, languageCode, consentScript, ...hashes };
  };
}

/** How long it takes at least, for one who speaks very fast. */
const secondsToSay = (script: string): number => Math.max(1, (script.match(/[\p{L}\p{N}]/gu)?.length ?? 0) / 30);

interface CheckedClone {
  faults: readonly FieldViolation[];
  chosen: readonly Cloner[];
  languageCode: string;
  consentScript: string;
}

/** Everything that can be wrong without listening, at once. */
function checkClone(asked: CloneFields, cloners: readonly Cloner[]): CheckedClone {
  const faults: FieldViolation[] = [];
  const fault = faultTo(faults);
  if (asked.voiceId !== undefined) checkVoiceId(asked.voiceId, fault);
  checkName('name', asked.name, fault);
  checkName('speaker_name', asked.speakerName, fault);
  for (const [field, text] of Object.entries({ description: asked.description, reference_text: asked.referenceText }))
    checkText(field, text, fault);
  checkText('consent_script', asked.consentScript, fault);
  checkLabels(asked.labels, fault);
  if (asked.reference.length === 0) fault('reference_audio', 'required', 'send a recording of the person');
  if (asked.consent.length === 0)
    fault('consent_audio', 'required', 'send a recording of the person’s consent; nobody is cloned without');
  const given = checkLanguage('language_code', asked.languageCode, fault) ?? '';
  const chosen = given === '' ? [] : chooseCloners(asked, given, cloners, faults);
  const languageCode = inRegion(given, chosen);
  const consentScript = scriptFor(asked, languageCode, chosen, faults);
  if (chosen.some(({ cloning }) => cloning.needsReferenceText) && asked.referenceText.trim() === '')
    fault('reference_text', 'required', 'the engine must be told what is said in reference_audio');
  if (asked.consent.length > 0 && Buffer.compare(asked.reference, asked.consent) === 0)
    fault('consent_audio', 'conflict', 'must be another recording than reference_audio');
  return { faults, chosen, languageCode, consentScript };
}

function chooseCloners(
  { engines }: CloneFields,
  languageCode: string,
  cloners: readonly Cloner[],
  faults: FieldViolation[],
): Cloner[] {
  const fault = faultTo(faults);
  if (cloners.length === 0) {
    throw new Failure('engine_unavailable', { message: 'No engine that can clone a voice is set up here.' });
  }
  const speaks = ({ cloning }: Cloner) => isSpokenBy({ languageCodes: cloning.sampleLanguageCodes }, languageCode);
  if (engines.length > bindingsMax) fault('engines', 'length', `must be at most ${bindingsMax}`);
  if (engines.length === 0) {
    const first = cloners.find(speaks);
    const spoken = [...new Set(cloners.flatMap(({ cloning }) => cloning.sampleLanguageCodes))].join(', ');
    if (!first) fault('language_code', 'unsupported_language', `voices can be cloned in ${spoken}`);
    return first ? [first] : [];
  }
  return [...new Set(engines)].flatMap((name) => {
    const found = cloners.find((engine) => engine.name === name);
    const names = cloners.map((engine) => engine.name).join(', ');
    if (!found) fault('engines', 'enum', `must be one that can clone: ${names}`);
    else if (!speaks(found))
      fault(
        'language_code',
        'unsupported_language',
        `${name} clones in ${found.cloning.sampleLanguageCodes.join(', ')}`,
      );
    return found ?? [];
  });
}

/** A bare language is the first of its regions for an engine that knows regions only: of the others its clones speak none. */
function inRegion(languageCode: string, chosen: readonly Cloner[]): string {
  const codes = chosen.flatMap(({ cloning: { sampleLanguageCodes } }) =>
    sampleLanguageCodes.includes(languageCode)
      ? []
      : (sampleLanguageCodes.find((code) => code.startsWith(`${languageCode}-`)) ?? []),
  );
  return codes[0] ?? languageCode;
}

/** What the person must have said: an engine that listens to it has the word. */
function scriptFor(
  { consentScript: given }: CloneFields,
  languageCode: string,
  chosen: readonly Cloner[],
  faults: FieldViolation[],
): string {
  const required = chosen.flatMap(({ cloning }) => scriptIn(cloning.consentScripts, languageCode) ?? []);
  const [first] = required;
  if (first !== undefined) {
    if (given !== '' && given !== first)
      faults.push({ field: 'consent_script', reason: 'enum', message: `must be: ${first}` });
    return first;
  }
  if (chosen.length === 0) return given;
  const isEnglish = isSpokenBy({ languageCodes: ['en'] }, languageCode);
  if (given === '' && !isEnglish)
    faults.push({ field: 'consent_script', reason: 'required', message: 'tell what is said in consent_audio' });
  return given === '' ? usualScript : given;
}

function scriptIn(scripts: Readonly<Record<string, string>>, languageCode: string): string | undefined {
  const code = Object.keys(scripts).find((each) => each.toLowerCase() === languageCode.toLowerCase());
  const language = languageCode.split('-')[0]!.toLowerCase();
  const kin = Object.keys(scripts).find((each) => each.toLowerCase().split('-')[0] === language);
  const found = code ?? kin;
  return found === undefined ? undefined : scripts[found];
}
