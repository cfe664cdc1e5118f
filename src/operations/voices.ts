// Voices: listed, previewed, made, cloned, changed and ended by callers, among those that they may use.
import type { Cloning, Engine, Voice } from '../engines/engine.ts';
import { isSpokenBy, type OfferedVoice, type Voices, voicesFor } from '../speech/voice.ts';
import type { CloneFields, VoiceFields } from '../voices/voice-fields.ts';
import type { VoiceManagement } from '../voices/voice-management.ts';
import type { PreviewVoice, VoicePreview } from '../voices/voice-preview.ts';
import { actorOf, type Call } from './call.ts';
import { type Page, type PageOf, toPage } from './page.ts';

export interface VoiceFilter {
  /** Canonical BCP-47. */
  languageCode?: string | undefined;
  engine?: string | undefined;
  /** Words in the id, name, description or labels. */
  text?: string | undefined;
}

export interface VoiceOperations {
  listVoices(call: Call, filter: VoiceFilter, page: Page): Promise<PageOf<OfferedVoice>>;
  /** All that can speak now, in the order of their ids. */
  listReadyVoices(call: Call): Promise<readonly OfferedVoice[]>;
  getVoice(call: Call, voiceId: string): Promise<OfferedVoice>;
  previewVoice(call: Call, voiceId: string): Promise<VoicePreview>;
  describeCloning(call: Call): Promise<readonly { engine: string; cloning: Cloning }[]>;
  createVoice(call: Call, voiceId: string | undefined, fields: VoiceFields): Promise<OfferedVoice>;
  cloneVoice(call: Call, fields: CloneFields): Promise<OfferedVoice>;
  updateVoice(call: Call, voiceId: string, fields: VoiceFields): Promise<OfferedVoice>;
  deleteVoice(call: Call, voiceId: string): Promise<void>;
  revokeVoiceConsent(call: Call, voiceId: string): Promise<OfferedVoice>;
}

export interface VoiceOperationsOptions {
  voices: Voices;
  engines: readonly Engine[];
  management: VoiceManagement;
  preview: PreviewVoice;
}

export function createVoiceOperations(options: VoiceOperationsOptions): VoiceOperations {
  const { voices, engines, management, preview } = options;
  const listFor = ({ caller }: Call) =>
    voicesFor(voices, caller)
      .list()
      .toSorted(({ voice: a }, { voice: b }) => (a.voiceId < b.voiceId ? -1 : 1));
  return {
    async listVoices(call, filter, { size, after = '' }) {
      const isWanted = toPredicate(filter);
      const following = listFor(call).filter(({ voice }) => voice.voiceId > after && isWanted(voice));
      return toPage(following, size, ({ voice }) => voice.voiceId);
    },
    listReadyVoices: async (call) => listFor(call).filter(({ status }) => status === 'ready'),
    getVoice: async ({ caller }, voiceId) => voicesFor(voices, caller).find(voiceId),
    previewVoice: ({ caller, signal }, voiceId) => preview(voiceId, caller, signal),
    describeCloning: async () => engines.flatMap(({ name, cloning }) => (cloning ? [{ engine: name, cloning }] : [])),
    createVoice: (call, voiceId, fields) => management.create(voiceId, withoutEmpty(fields), actorOf(call)),
    cloneVoice: (call, fields) => management.clone(fields, actorOf(call), call.signal),
    updateVoice: (call, voiceId, fields) => management.update(voiceId, fields, actorOf(call)),
    deleteVoice: (call, voiceId) => management.remove(voiceId, actorOf(call)),
    revokeVoiceConsent: (call, voiceId) => management.revokeConsent(voiceId, actorOf(call)),
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
