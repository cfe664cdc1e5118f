// Voices: listed, previewed, made, cloned, changed and ended by callers, among those that they may use.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Engine } from '../engines/engine.ts';
import { type DefaultVoice, findDefault } from '../speech/default-voice.ts';
import { isMiss } from '../speech/find-current.ts';
import { type OfferedVoice, ownerOf, type VoiceOwner, type Voices, voicesFor } from '../speech/voice.ts';
import type { CloneFields, VoiceFields } from '../voices/voice-fields.ts';
import type { VoiceManagement } from '../voices/voice-management.ts';
import type { PreviewVoice } from '../voices/voice-preview.ts';
import { actorOf, type Call } from './call.ts';
import { voicesPerTurn } from './limits.ts';
import { type Page, toPage } from './page.ts';
import { toPredicate, type VoiceFilter } from './voice-filter.ts';

/** A voice, and whose it is for the caller. */
export type ListedVoice = OfferedVoice & { owner: VoiceOwner };

export type VoiceOperations = ReturnType<typeof createVoiceOperations>;

export interface VoiceOperationsOptions {
  voices: Voices;
  engines: readonly Engine[];
  management: VoiceManagement;
  preview: PreviewVoice;
}

export function createVoiceOperations({ voices, engines, management, preview }: VoiceOperationsOptions) {
  const { findCurrent } = voices;
  const listFor = ({ caller }: Call) => voicesFor(voices, caller).list();
  const toListed = (offered: OfferedVoice, { caller }: Call): ListedVoice => ({
    ...offered,
    owner: ownerOf(offered.kept, caller),
  });
  return {
    async listVoices(call: Call, filter: VoiceFilter, page: Page) {
      const { size, after = '' } = page;
      const isWanted = toPredicate(filter);
      const found: ListedVoice[] = [];
      for (const [i, offered] of listFor(call).entries()) {
        if (found.length > size) break;
        if (i % voicesPerTurn === voicesPerTurn - 1) {
          await nextTurn();
          call.signal.throwIfAborted();
        }
        if (offered.position > after && isWanted(offered)) found.push(toListed(offered, call));
      }
      return toPage(found, page, ({ position }) => position);
    },
    /** All that can speak now, in the order of voices, each with the aliases by which the caller finds it. */
    async listReadyVoices({ caller }: Call): Promise<OfferedVoice[]> {
      const usable = voicesFor(voices, caller);
      const ready = usable.list().filter(({ status }) => status === 'ready');
      const isFound = (offered: OfferedVoice) => (alias: string) => usable.lookUp(alias) === offered;
      return ready.map((each) => ({ ...each, aliases: each.aliases.filter(isFound(each)) }));
    },
    getVoice: (call: Call, voiceId: string) =>
      findCurrent(() => toListed(voicesFor(voices, call.caller).find(voiceId), call)),
    /** Of the voices that the caller may use. */
    getDefaultVoice: async ({ caller }: Call): Promise<DefaultVoice> => findDefault(voicesFor(voices, caller)),
    /** The caller's own or everyone's voice, or the default voice where there is no such voice or none is named. */
    async findOrDefault({ caller }: Pick<Call, 'caller'>, idOrAlias: string | undefined) {
      const usable = voicesFor(voices, { ...caller, usesAllVoices: false });
      const { offered } = findDefault(usable);
      const fallBack = (error: unknown) => {
        if (offered && isMiss(error)) return undefined;
        throw error;
      };
      const find = () => usable.find(idOrAlias ?? '');
      const found = idOrAlias === undefined && offered ? undefined : await findCurrent(find).catch(fallBack);
      return { voiceId: (found ?? offered!).voice.voiceId, isDefault: !found };
    },
    /** Undefined takes the choice back. */
    async setDefaultVoice(call: Call, voiceId: string | undefined): Promise<DefaultVoice> {
      await findCurrent(() => management.chooseDefault(voiceId, actorOf(call)));
      return findDefault(voicesFor(voices, call.caller));
    },
    previewVoice: ({ caller, signal }: Call, voiceId: string) => findCurrent(() => preview(voiceId, caller, signal)),
    describeCloning: async (_call: Call) =>
      engines.flatMap(({ name, cloning }) => (cloning ? [{ engine: name, cloning }] : [])),
    createVoice: async (call: Call, voiceId: string | undefined, fields: VoiceFields) =>
      toListed(await findCurrent(() => management.create(voiceId, withoutEmpty(fields), actorOf(call))), call),
    cloneVoice: async (call: Call, fields: CloneFields) =>
      toListed(await management.clone(fields, actorOf(call), call.signal), call),
    updateVoice: async (call: Call, voiceId: string, fields: VoiceFields) =>
      toListed(await findCurrent(() => management.update(voiceId, fields, actorOf(call))), call),
    deleteVoice: (call: Call, voiceId: string) => findCurrent(() => management.remove(voiceId, actorOf(call))),
    revokeVoiceConsent: async (call: Call, voiceId: string) =>
      toListed(await findCurrent(() => management.revokeConsent(voiceId, actorOf(call))), call),
  };
}

/** What is empty in a new voice has its default. */
const withoutEmpty = ({ description, languageCodes, bindings, blend, ...fields }: VoiceFields): VoiceFields => ({
  ...fields,
  description: description || undefined,
  languageCodes: languageCodes?.length ? languageCodes : undefined,
  bindings: bindings?.length ? bindings : undefined,
  blend: blend?.length ? blend : undefined,
});
