// Voices: listed, previewed, made, cloned, changed and ended by callers, among those that they may use.
import type { Engine, Voice } from '../engines/engine.ts';
import { isSpokenBy, type Voices, voicesFor } from '../speech/voice.ts';
import type { CloneFields, VoiceFields } from '../voices/voice-fields.ts';
import type { VoiceManagement } from '../voices/voice-management.ts';
import type { PreviewVoice } from '../voices/voice-preview.ts';
import { actorOf, type Call } from './call.ts';
import { type Page, toPage } from './page.ts';

export interface VoiceFilter {
  /** Canonical BCP-47. */
  languageCode?: string | undefined;
  engine?: string | undefined;
  /** Words in the id, name, description or labels. */
  text?: string | undefined;
}

export type VoiceOperations = ReturnType<typeof createVoiceOperations>;

export interface VoiceOperationsOptions {
  voices: Voices;
  engines: readonly Engine[];
  management: VoiceManagement;
  preview: PreviewVoice;
}

export function createVoiceOperations({ voices, engines, management, preview }: VoiceOperationsOptions) {
  const listFor = ({ caller }: Call) =>
    voicesFor(voices, caller)
      .list()
      .toSorted(({ voice: a }, { voice: b }) => (a.voiceId < b.voiceId ? -1 : 1));
  return {
    async listVoices(call: Call, filter: VoiceFilter, { size, after = '' }: Page) {
      const isWanted = toPredicate(filter);
      const following = listFor(call).filter(({ voice }) => voice.voiceId > after && isWanted(voice));
      return toPage(following, size, ({ voice }) => voice.voiceId);
    },
    /** All that can speak now, ordered by id. */
    listReadyVoices: async (call: Call) => listFor(call).filter(({ status }) => status === 'ready'),
    getVoice: async ({ caller }: Call, voiceId: string) => voicesFor(voices, caller).find(voiceId),
    previewVoice: ({ caller, signal }: Call, voiceId: string) => preview(voiceId, caller, signal),
    describeCloning: async (_call: Call) =>
      engines.flatMap(({ name, cloning }) => (cloning ? [{ engine: name, cloning }] : [])),
    createVoice: (call: Call, voiceId: string | undefined, fields: VoiceFields) =>
      management.create(voiceId, withoutEmpty(fields), actorOf(call)),
    cloneVoice: (call: Call, fields: CloneFields) => management.clone(fields, actorOf(call), call.signal),
    updateVoice: (call: Call, voiceId: string, fields: VoiceFields) =>
      management.update(voiceId, fields, actorOf(call)),
    deleteVoice: (call: Call, voiceId: string) => management.remove(voiceId, actorOf(call)),
    revokeVoiceConsent: (call: Call, voiceId: string) => management.revokeConsent(voiceId, actorOf(call)),
  };
}

/** What is empty in a new voice has its default. */
const withoutEmpty = ({ description, languageCodes, bindings, ...fields }: VoiceFields): VoiceFields => ({
  ...fields,
  description: description || undefined,
  languageCodes: languageCodes?.length ? languageCodes : undefined,
  bindings: bindings?.length ? bindings : undefined,
});

function toPredicate({ languageCode, engine, text = '' }: VoiceFilter): (voice: Voice) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (voice) =>
    (!languageCode || isSpokenBy(voice, languageCode)) &&
    (!engine || voice.engine === engine) &&
    words.every((word) => searchTextOf(voice).includes(word));
}

const searchTextOf = ({ voiceId, name, description, labels }: Voice) =>
  [voiceId, name, description, ...Object.values(labels)].join('\n').toLowerCase();
