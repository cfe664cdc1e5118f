// sonant.v1.VoiceService: the voices that the caller may speak with, filtered, by id, a page at a time.
import type { ServiceImpl } from '@connectrpc/connect';
import { type ListVoicesRequest, VoiceKind, type VoiceService, VoiceStatus } from '../../gen/sonant/v1/voice_pb.ts';
import type { Voice } from '../engines/engine.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { toLanguageCode } from '../speech/request.ts';
import { isSpokenBy, type Voices, voicesFor } from '../speech/voice.ts';
import { callerOf } from './call.ts';
import { parsePage, toPageToken } from './page.ts';

export function createVoiceService(voices: Voices): ServiceImpl<typeof VoiceService> {
  return {
    listVoices(message, context) {
      const { size, after = '', isWanted } = parseList(message);
      const following = voicesFor(voices, callerOf(context))
        .list()
        .map(({ voice }) => voice)
        .filter((voice) => voice.voiceId > after && isWanted(voice))
        .sort((a, b) => (a.voiceId < b.voiceId ? -1 : 1));
      const page = following.slice(0, size);
      const nextPageToken = following.length > page.length ? toPageToken(page.at(-1)!.voiceId) : '';
      return { voices: page.map(toMessage), nextPageToken };
    },
    getVoice({ voiceId }, context) {
      if (voiceId === '') {
        const message = 'name the voice to tell of';
        throw new Failure('invalid_request', { details: [{ field: 'voice_id', reason: 'required', message }] });
      }
      return { voice: toMessage(voicesFor(voices, callerOf(context)).find(voiceId).voice) };
    },
  };
}

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

const toMessage = ({ voiceId, name, description, kind, engine, languageCodes, labels }: Voice) => ({
  voiceId,
  name,
  description,
  kind: kind === 'cloned' ? VoiceKind.CLONED : VoiceKind.STOCK,
  engine,
  status: VoiceStatus.READY,
  languageCodes: [...languageCodes],
  labels: { ...labels },
});
