// sonant.v1.VoiceService: converts messages to calls of the voice operations, and their results to messages.
import type { ServiceImpl } from '@connectrpc/connect';
import type { ListVoicesRequest, VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { parsePage } from '../api/page.ts';
import { parseVoiceFilter } from '../api/voice-filter.ts';
import type { VoiceOperations } from '../api/voices.ts';
import type { FieldViolation } from '../errors.ts';
import { callOf } from './call-context.ts';
import { pageNames, requireText } from './required.ts';
import {
  toCloneFields,
  toCloningEngine,
  toDefaultVoice,
  toVoiceChange,
  toVoiceFields,
  toVoiceMessage,
} from './voice-message.ts';

export function createVoiceService(voices: VoiceOperations): ServiceImpl<typeof VoiceService> {
  return {
    async listVoices(message, context) {
      const { filter, page } = parseList(message);
      const { items, nextPageToken } = await voices.listVoices(callOf(context), filter, page);
      return { voices: items.map(toVoiceMessage), nextPageToken };
    },
    async getVoice({ voiceId }, context) {
      return { voice: toVoiceMessage(await voices.getVoice(callOf(context), required(voiceId))) };
    },
    async getDefaultVoice(_message, context) {
      return { defaultVoice: toDefaultVoice(await voices.getDefaultVoice(callOf(context))) };
    },
    async setDefaultVoice({ voiceId }, context) {
      const call = callOf(context);
      return { defaultVoice: toDefaultVoice(await voices.setDefaultVoice(call, voiceId || undefined)) };
    },
    async previewVoice({ voiceId }, context) {
      const { audio, contentType, text } = await voices.previewVoice(callOf(context), required(voiceId));
      return { audioBytes: audio, contentType, text };
    },
    async createVoice({ voiceId, spec }, context) {
      const fields = toVoiceFields(spec);
      return { voice: toVoiceMessage(await voices.createVoice(callOf(context), voiceId || undefined, fields)) };
    },
    async describeCloning(_message, context) {
      return { engines: (await voices.describeCloning(callOf(context))).map(toCloningEngine) };
    },
    async cloneVoice(message, context) {
      return { voice: toVoiceMessage(await voices.cloneVoice(callOf(context), toCloneFields(message))) };
    },
    async updateVoice(message, context) {
      const fields = toVoiceChange(message);
      return { voice: toVoiceMessage(await voices.updateVoice(callOf(context), required(message.voiceId), fields)) };
    },
    async deleteVoice({ voiceId }, context) {
      await voices.deleteVoice(callOf(context), required(voiceId));
      return {};
    },
    async revokeVoiceConsent({ voiceId }, context) {
      return { voice: toVoiceMessage(await voices.revokeVoiceConsent(callOf(context), required(voiceId))) };
    },
  };
}

const required = (voiceId: string) => requireText('voice_id', voiceId, 'name the voice');

function parseList({ languageCode, engine, query, ...paging }: ListVoicesRequest) {
  const violations: FieldViolation[] = [];
  const page = parsePage(paging, ['voices', languageCode, engine, query], pageNames, violations);
  return { filter: parseVoiceFilter({ languageCode, engine, text: query }, { text: 'query' }, violations), page };
}
