// sonant.v1.VoiceService: the voices there are, filtered, by id, a page at a time. A page token is the id of the last
// voice before the page, so that voices which come and go meanwhile make no page skip or repeat another.
import type { ServiceImpl } from '@connectrpc/connect';
import { type ListVoicesRequest, VoiceKind, type VoiceService, VoiceStatus } from '../../gen/sonant/v1/voice_pb.ts';
import type { Voice } from '../engines/engine.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { toLanguageCode } from '../speech/request.ts';
import { isSpokenBy, type Voices } from '../speech/voice.ts';
import { pageSizeDefault, pageSizeMax } from './limits.ts';

const tokenMark = 'after:';

export function createVoiceService(voices: Voices): ServiceImpl<typeof VoiceService> {
  return {
    listVoices(message) {
      const { pageSize, after, isWanted } = parseList(message);
      const following = voices
        .list()
        .filter((voice) => voice.voiceId > after && isWanted(voice))
        .sort((a, b) => (a.voiceId < b.voiceId ? -1 : 1));
      const page = following.slice(0, pageSize);
      const nextPageToken = following.length > page.length ? toToken(page.at(-1)!.voiceId) : '';
      return { voices: page.map(toMessage), nextPageToken };
    },
    getVoice({ voiceId }) {
      if (voiceId === '') {
        const message = 'name the voice to tell of';
        throw new Failure('invalid_request', { details: [{ field: 'voice_id', reason: 'required', message }] });
      }
      return { voice: toMessage(voices.find(voiceId).voice) };
    },
  };
}

function parseList(message: ListVoicesRequest) {
  const faults: FieldViolation[] = [];
  const fault = (field: string, reason: string, message: string) => faults.push({ field, reason, message });
  const { pageSize = pageSizeDefault, pageToken, engine } = message;
  if (pageSize < 1 || pageSize > pageSizeMax) fault('page_size', 'range', `must be 1 to ${pageSizeMax}`);
  const after = pageToken === '' ? '' : fromToken(pageToken);
  if (after === undefined) fault('page_token', 'format', 'must be the next_page_token of an earlier page');
  const languageCode = message.languageCode === '' ? '' : toLanguageCode(message.languageCode);
  if (languageCode === undefined) fault('language_code', 'format', 'must be a BCP-47 language code such as en-US');
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });

  const words = message.query.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = (voice: Voice) =>
    (!languageCode || isSpokenBy(voice, languageCode)) &&
    (engine === '' || voice.engine === engine) &&
    words.every((word) => textOf(voice).includes(word));
  return { pageSize, after: after ?? '', isWanted };
}

const textOf = ({ voiceId, name, description, labels }: Voice) =>
  [voiceId, name, description, ...Object.values(labels)].join('\n').toLowerCase();

const toToken = (voiceId: string) => Buffer.from(tokenMark + voiceId).toString('base64url');

function fromToken(token: string): string | undefined {
  const text = Buffer.from(token, 'base64url').toString();
  const voiceId = text.slice(tokenMark.length);
  return toToken(voiceId) === token ? voiceId : undefined;
}

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
