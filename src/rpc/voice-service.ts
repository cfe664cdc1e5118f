// sonant.v1.VoiceService: the voices that the caller may speak with, filtered, by id, a page at a time; and the desk where
// they are made and kept.
import type { ServiceImpl } from '@connectrpc/connect';
import type { ListVoicesRequest, VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import type { Cloning, Engine, Voice } from '../engines/engine.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { parsePage, toPageToken } from '../operations/page.ts';
import { isSpokenBy, type Voices, voicesFor } from '../speech/voice.ts';
import { toLanguageCode } from '../text/language-code.ts';
import type { VoiceManagement } from '../voices/voice-management.ts';
import type { PreviewVoice } from '../voices/voice-preview.ts';
import { actorOf, callerOf } from './call.ts';
import { requireText } from './required.ts';
import { toAsked, toAskedChange, toAskedClone, toVoiceMessage } from './voice-message.ts';

export interface VoiceServiceOptions {
  voices: Voices;
  desk: VoiceManagement;
  preview: PreviewVoice;
  engines: readonly Engine[];
}

export function createVoiceService({
  voices,
  desk,
  preview,
  engines,
}: VoiceServiceOptions): ServiceImpl<typeof VoiceService> {
  return {
    listVoices(message, context) {
      const { size, after = '', isWanted } = parseList(message);
      const following = voicesFor(voices, callerOf(context))
        .list()
        .filter(({ voice }) => voice.voiceId > after && isWanted(voice))
        .sort(({ voice: a }, { voice: b }) => (a.voiceId < b.voiceId ? -1 : 1));
      const page = following.slice(0, size);
      const nextPageToken = following.length > page.length ? toPageToken(page.at(-1)!.voice.voiceId) : '';
      return { voices: page.map(toVoiceMessage), nextPageToken };
    },
    getVoice({ voiceId }, context) {
      return { voice: toVoiceMessage(voicesFor(voices, callerOf(context)).find(named(voiceId))) };
    },
    async previewVoice({ voiceId }, context) {
      const { audio, ...told } = await preview(named(voiceId), callerOf(context), context.signal);
      return { ...told, audioBytes: audio };
    },
    async createVoice({ voiceId, spec }, context) {
      return { voice: toVoiceMessage(await desk.create(voiceId || undefined, toAsked(spec), actorOf(context))) };
    },
    describeCloning() {
      return { engines: engines.flatMap(({ name, cloning }) => (cloning ? [toCloningEngine(name, cloning)] : [])) };
    },
    async cloneVoice(message, context) {
      return { voice: toVoiceMessage(await desk.clone(toAskedClone(message), actorOf(context), context.signal)) };
    },
    async updateVoice(message, context) {
      const asked = toAskedChange(message);
      return { voice: toVoiceMessage(await desk.update(named(message.voiceId), asked, actorOf(context))) };
    },
    async deleteVoice({ voiceId }, context) {
      await desk.remove(named(voiceId), actorOf(context));
      return {};
    },
    async revokeVoiceConsent({ voiceId }, context) {
      return { voice: toVoiceMessage(await desk.revokeConsent(named(voiceId), actorOf(context))) };
    },
  };
}

const named = (voiceId: string) => requireText('voice_id', voiceId, 'name the voice');

const toCloningEngine = (engine: string, { sampleSeconds, sampleLanguageCodes, ...cloning }: Cloning) => ({
  engine,
  sampleLanguageCodes: [...sampleLanguageCodes],
  sampleSecondsMin: sampleSeconds.min,
  sampleSecondsMax: sampleSeconds.max,
  needsReferenceText: cloning.needsReferenceText,
  consentScripts: { ...cloning.consentScripts },
});

function parseList(message: ListVoicesRequest) {
  const faults: FieldViolation[] = [];
  const page = parsePage(message, faults);
  const languageCode = message.languageCode === '' ? '' : toLanguageCode(message.languageCode);
  if (languageCode === undefined) {
    const told = 'must be a BCP-47 language code such as en-US';
    faults.push({ field: 'language_code', reason: 'format', message: told });
  }
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });

  const { engine } = message;
  const words = message.query.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = (voice: Voice) =>
    (!languageCode || isSpokenBy(voice, languageCode)) &&
    (engine === '' || voice.engine === engine) &&
    words.every((word) => textOf(voice).includes(word));
  return { ...page, isWanted };
}

const textOf = ({ voiceId, name, description, labels }: Voice) =>
  [voiceId, name, description, ...Object.values(labels)].join('\n').toLowerCase();
