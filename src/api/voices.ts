// Handlers for voices: callers list, preview, create, clone, change and delete the voices that they may use.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type CloneVoiceRequest,
  type CreateVoiceRequest,
  DefaultVoiceSourceSchema,
  type ListVoicesRequest,
  type UpdateVoiceRequest,
  VoiceAccessSchema,
  VoiceKindSchema,
  VoiceOwnerSchema,
  type VoiceSchema,
  type VoiceService,
  type VoiceSpec,
  VoiceSpecSchema,
  VoiceStatusSchema,
} from '../../gen/sonant/v1/voice_pb.ts';
import { enumNames, type Violations } from '../contract.ts';
import type { Cloning, Engine } from '../engines.ts';
import { textsOf, type VoiceFields, type VoiceManagement } from '../library.ts';
import { countChars } from '../platform/count-chars.ts';
import { Failure, type FieldViolation, hasReason } from '../platform/errors.ts';
import { isSpokenBy } from '../platform/language-code.ts';
import { oncePer } from '../platform/runtime/once-per.ts';
import { type OfferedVoice, ownerOf, type StoredVoice, speechFields, type Voices } from '../speech.ts';
import { actorOf, type Call } from './call.ts';
import { voiceFilterCharsMax, voicesPerTurn } from './call-limits.ts';
import { defined, nameOf, pageOf, pathsOf, readLanguageCode, toEnum, toPage, toTime, unlessEmpty } from './messages.ts';
import { checked, type Handlers } from './service-handlers.ts';

export interface VoiceHandlersOptions {
  voices: Voices;
  engines: readonly Engine[];
  management: VoiceManagement;
}

export function createVoiceHandlers({ voices, engines, management }: VoiceHandlersOptions) {
  const { findCurrent } = voices;
  const inVoice = (offered: OfferedVoice, call: Call) => ({ voice: toVoice(offered, call) });

  /** Adds the violations that the check finds. If a voice or lexicon is missing, checks again with current rows. */
  const checkCurrent = async <Plan>(
    violations: Violations,
    check: (faults: FieldViolation[]) => Plan | Promise<Plan>,
  ): Promise<Plan | undefined> => {
    try {
      return await findCurrent(async () => {
        const details: FieldViolation[] = [];
        const plan = await check(details);
        if (details.length > 0) throw new Failure('invalid_request', { details });
        return plan;
      });
    } catch (error) {
      if (!(error instanceof Failure) || error.reason !== 'invalid_request' || !error.facts.details) throw error;
      violations.add(error.facts.details);
      return undefined;
    }
  };

  return {
    listVoices: checked(
      ({ languageCode: given, engine, text, limit, cursor }: ListVoicesRequest, _call, violations) => {
        const languageCode = readLanguageCode(given, 'language_code', violations);
        const isWanted = toPredicate({ languageCode, engine, text });
        return { isWanted, page: pageOf({ limit, cursor }, ['voices', given, engine, text], violations) };
      },
      async (_message, call, { isWanted, page }) => {
        const { size, after = '' } = page;
        const found: OfferedVoice[] = [];
        for (const [i, offered] of voices.usableBy(call.caller).list().entries()) {
          if (found.length > size) break;
          if (i % voicesPerTurn === voicesPerTurn - 1) {
            await nextTurn();
            call.signal.throwIfAborted();
          }
          if (offered.position > after && isWanted(offered)) found.push(offered);
        }
        const { items, nextCursor } = toPage(found, page, ({ position }) => position);
        return { voices: items.map((item) => toVoice(item, call)), nextCursor };
      },
    ),
    getVoice: async ({ voiceId }, call) =>
      inVoice(await findCurrent(() => voices.usableBy(call.caller).find(voiceId)), call),
    getDefaultVoice: async (_message, { caller }) => ({
      defaultVoice: toDefault(voices.usableBy(caller).findDefault()),
    }),
    async setDefaultVoice({ voiceId }, call) {
      await findCurrent(() => management.chooseDefault(voiceId || undefined, actorOf(call)));
      return { defaultVoice: toDefault(voices.usableBy(call.caller).findDefault()) };
    },
    async previewVoice({ voiceId }, { caller, signal }) {
      const { audio, contentType, text } = await findCurrent(() => management.preview(voiceId, caller, signal));
      return { audioBytes: audio, contentType, text };
    },
    createVoice: checked(
      async ({ voiceId, spec = create(VoiceSpecSchema) }: CreateVoiceRequest, call, violations) => {
        const fields = toNewFields(spec);
        const check = (faults: FieldViolation[]) => {
          const found = management.checkNew(voiceId || undefined, fields, actorOf(call), faults);
          // If the request had a blend that could not be read, the missing bindings are not reported.
          const missing = faults.findIndex(({ field, reason }) => field === 'bindings' && reason === 'required');
          if (missing >= 0 && violations.has('blend')) faults.splice(missing, 1);
          return found;
        };
        return { fields, found: await checkCurrent(violations, check) };
      },
      async ({ voiceId }, call, { fields, found }) =>
        inVoice(await management.create(voiceId || undefined, fields, found!, actorOf(call)), call),
    ),
    describeCloning: async () => ({
      engines: engines.flatMap(({ name, cloning }) => (cloning ? toCloningEngine(name, cloning) : [])),
    }),
    cloneVoice: checked(
      async (message: CloneVoiceRequest, call, violations) => {
        const fields = { ...message, access: toAccess(message.access) };
        const faults: FieldViolation[] = [];
        const prepared = await management.checkClone(fields, actorOf(call), faults, call.signal);
        violations.add(faults);
        return { fields, prepared };
      },
      async (_message, call, { fields, prepared }) =>
        inVoice(await management.clone(fields, prepared, actorOf(call), call.signal), call),
    ),
    updateVoice: checked(
      async ({ voiceId, spec = create(VoiceSpecSchema), updateMask }: UpdateVoiceRequest, call, violations) => {
        const paths = pathsOf(VoiceSpecSchema, updateMask, violations);
        const fields = toChange(spec, paths, violations);
        const check = (faults: FieldViolation[]) => management.checkUpdate(voiceId, fields, actorOf(call), faults);
        if (paths.size > 0 && voiceId !== '') await checkCurrent(violations, check);
        return fields;
      },
      async ({ voiceId }, call, fields) =>
        inVoice(await findCurrent(() => management.update(voiceId, fields, actorOf(call))), call),
    ),
    async deleteVoice({ voiceId }, call) {
      await findCurrent(() => management.remove(voiceId, actorOf(call)));
      return {};
    },
    revokeVoiceConsent: async ({ voiceId }, call) =>
      inVoice(await findCurrent(() => management.revokeConsent(voiceId, actorOf(call))), call),
  } satisfies Handlers<typeof VoiceService>;
}

/** Operations on voices for the APIs of other vendors. */
export function createVoiceOperations(voices: Voices) {
  const { findCurrent } = voices;
  return {
    /**
     * Returns all voices that can speak now, in list order. Each voice has the aliases by which the caller can find it.
     */
    async listReadyVoices({ caller }: Pick<Call, 'caller'>): Promise<OfferedVoice[]> {
      const usable = voices.usableBy(caller);
      const ready = usable.list().filter(({ status }) => status === 'ready');
      const isFound = (offered: OfferedVoice) => (alias: string) => usable.lookUp(alias) === offered;
      return ready.map((each) => ({ ...each, aliases: each.aliases.filter(isFound(each)) }));
    },
    getVoice: ({ caller }: Call, voiceId: string) => findCurrent(() => voices.usableBy(caller).find(voiceId)),
    /**
     * Finds the first of these voices that the caller owns or that is public. Returns the default voice if there is no
     * such voice or no voice is named.
     */
    async findOrDefault({ caller }: Pick<Call, 'caller'>, ...names: readonly string[]) {
      const usable = voices.usableBy({ ...caller, usesAllVoices: false });
      const { offered } = usable.findDefault();
      const fallBack = (error: unknown) => {
        if (offered && hasReason(error, 'voice_not_found')) return undefined;
        throw error;
      };
      const find = () => names.flatMap((name) => usable.lookUp(name) ?? [])[0] ?? usable.find(names[0] ?? '');
      const found = names.length === 0 && offered ? undefined : await findCurrent(find).catch(fallBack);
      return { voiceId: (found ?? offered!).voice.voiceId, isDefault: !found };
    },
  };
}

/** The capabilities are the same for all voices, because Sonant adds the capabilities that an engine lacks. */
const capabilities = {
  sampleRates: [...speechFields.outputSampleRatesHz],
  outputFormats: [...speechFields.formatNames],
  speakingRate: speechFields.speakingRates,
};

function toVoice(offered: OfferedVoice, { caller }: Call): MessageInitShape<typeof VoiceSchema> {
  const { voice, status, kept, aliases } = offered;
  return defined({
    ...textsOf(kept ?? voice),
    voiceId: voice.voiceId,
    kind: toEnum(VoiceKindSchema, voice.kind),
    engine: voice.engine,
    status: toEnum(VoiceStatusSchema, status),
    natural: offered.isNatural,
    languageCodes: [...voice.languageCodes],
    labels: { ...voice.labels },
    bindings: offered.bindingIds.map(({ engine, voiceId = '' }) => ({ engine, voiceId })),
    blend: (offered.blend ?? []).map((part) => ({ ...part })),
    consent: kept?.consent && toConsent(kept.consent),
    createdAt: toTime(kept?.createdAt),
    updatedAt: toTime(kept?.updatedAt),
    access: toEnum(VoiceAccessSchema, kept?.access ?? 'everyone'),
    owner: toEnum(VoiceOwnerSchema, ownerOf(kept, caller)),
    aliases: [...aliases],
    lexiconIds: [...(kept?.lexiconIds ?? [])],
    capabilities,
  });
}

const toConsent = ({ givenAt, revokedAt, ...fields }: NonNullable<StoredVoice['consent']>) =>
  defined({ ...fields, givenAt: toTime(givenAt), revokedAt: toTime(revokedAt) });

const toDefault = ({ offered, source, chosen }: ReturnType<Voices['findDefault']>) => ({
  voiceId: offered?.voice.voiceId ?? '',
  source: toEnum(DefaultVoiceSourceSchema, source),
  chosenVoiceId: chosen?.voice.voiceId ?? '',
});

const toCloningEngine = (engine: string, cloning: Cloning) => ({
  engine,
  sampleLanguageCodes: [...cloning.sampleLanguageCodes],
  sampleSeconds: { ...cloning.sampleSeconds },
  needsReferenceText: cloning.needsReferenceText,
  consentScripts: { ...cloning.consentScripts },
});

const toAccess = (access: number | undefined) => nameOf<StoredVoice['access']>(VoiceAccessSchema, access);

const toFields = ({ $typeName: _, $unknown, access, bindings, blend, ...fields }: VoiceSpec) => ({
  ...fields,
  bindings: bindings.map(({ engine, voiceId }) => ({ engine, voiceId })),
  blend: blend.map(({ voiceId, weight }) => ({ voiceId, weight })),
  access: toAccess(access),
});

/** Fields of a new voice; empty fields get their default. */
function toNewFields(spec: VoiceSpec): VoiceFields {
  const { languageCodes, bindings, blend, ...fields } = toFields(spec);
  return {
    ...fields,
    languageCodes: unlessEmpty(languageCodes),
    bindings: unlessEmpty(bindings),
    blend: unlessEmpty(blend),
  };
}

/** The fields named by the mask. A named field without a value is reset to its default. */
function toChange(spec: VoiceSpec, paths: ReadonlySet<string>, violations: Violations): VoiceFields {
  const { names } = enumNames(VoiceAccessSchema);
  const { enabled = true, ...fields } = toFields(spec);
  if (paths.has('access') && fields.access === undefined)
    violations.report('access', 'enum', `must be one of ${names.join(', ')}`, { allowed: names });
  const all = Object.entries({ ...fields, enabled });
  return Object.fromEntries(all.filter(([name]) => paths.has(VoiceSpecSchema.field[name as keyof VoiceFields]!.name)));
}

interface VoiceFilter {
  /** Language in canonical BCP-47. An empty string in any field of the filter matches all voices. */
  languageCode: string;
  engine: string;
  /** Words to find in the id, aliases, name, description or labels of a voice. */
  text: string;
}

/** Parses the filter of a vendor's list, whose fields have these names. Throws a Failure if it has violations. */
export function parseVoiceFilter(
  { languageCode: given, text }: Omit<VoiceFilter, 'engine'>,
  names: { text: string; languageCode?: string },
  violations: Violations,
): (offered: OfferedVoice) => boolean {
  const [limit, actual] = [voiceFilterCharsMax, countChars(text)];
  if (actual > limit) {
    const message = `has ${actual} characters, over the limit of ${limit}`;
    violations.report(names.text, 'too_long', message, { limit, actual });
  }
  const languageCode = readLanguageCode(given, names.languageCode ?? '', violations);
  violations.throwIfAny();
  return toPredicate({ languageCode, engine: '', text });
}

function toPredicate({ languageCode, engine, text }: VoiceFilter): (offered: OfferedVoice) => boolean {
  const words = [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== '');
  return (offered) => {
    const { voice } = offered;
    if (languageCode !== '' && !isSpokenBy(voice, languageCode)) return false;
    if (engine !== '' && voice.engine !== engine) return false;
    if (words.length === 0) return true;
    const searched = searchTextOf(offered.kept ?? offered.voice);
    const aliases = offered.aliases.join('\n').toLowerCase();
    return words.every((word) => searched.includes(word) || aliases.includes(word));
  };
}

/** The lower-case search text of a voice. A changed voice has a new object. */
const searchTextOf = oncePer(({ voiceId, name, description, labels }: Searched): string =>
  [voiceId, name, description, ...Object.values(labels)].join('\n').toLowerCase(),
);
type Searched = Pick<OfferedVoice['voice'], 'voiceId' | 'name' | 'description' | 'labels'>;
