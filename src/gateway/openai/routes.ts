// /v1: what clients of OpenAI's interface for speech ask, answered as they expect it, over the same core. A key comes as
// their bearer token or in X-API-Key. Failures are OpenAI's error object, events are OpenAI's events, and nothing else.
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { type Voice, VoiceService, VoiceStatus } from '../../../gen/sonant/v1/voice_pb.ts';
import type { AdmitTo } from '../http/admission.ts';
import { sendPieces } from '../http/body-writer.ts';
import { callOptionsOf } from '../http/call-options.ts';
import { fromThrown } from '../http/failure-reply.ts';
import { fieldsOf } from '../http/json-body.ts';
import { documented } from '../http/route-docs.ts';
import { beginSound } from '../speech/begun-sound.ts';
import { toStream } from '../speech/fields.ts';
import { ignoredHeader, soundHeaders } from '../speech/headers.ts';
import { eventHeaders } from '../speech/server-sent-events.ts';
import { toOpenAiError } from './failure-reply.ts';
import { type OpenAiRequest, parseOpenAiFields } from './fields.ts';
import { openAiDocs } from './openapi.ts';

export interface OpenAiRoutesOptions {
  transport: Transport;
  /** Takes the key as a bearer token too. */
  admitTo: AdmitTo;
  isStrict: boolean;
}

/** What tools ask for that were made for OpenAI's own; any other name will do as well. */
const modelIds = ['sonant', 'tts-1', 'tts-1-hd', 'gpt-4o-mini-tts'];
const modelsSince = 1_735_689_600;
const pageSize = 1000;

export function addOpenAiRoutes(app: FastifyInstance, { transport, admitTo, isStrict }: OpenAiRoutesOptions): void {
  const speech = createClient(SpeechService, transport);
  const voices = createClient(VoiceService, transport);
  app.register(async (scope) => {
    scope.route({
      method: 'POST',
      url: '/v1/audio/speech',
      ...documented(openAiDocs.speak),
      onRequest: admitTo(SpeechService.method.streamSpeech),
      handler: (request, reply) => send(speech, request, reply, parseOpenAiFields(fieldsOf(request), isStrict)),
    });

    scope.route({
      method: 'GET',
      url: '/v1/audio/voices',
      ...documented(openAiDocs.listVoices),
      onRequest: admitTo(VoiceService.method.listVoices),
      async handler(request, reply) {
        const all: Voice[] = [];
        for (let pageToken = ''; ; ) {
          const page = await voices.listVoices({ pageSize, pageToken }, callOptionsOf(request, reply, 'rest'));
          all.push(...page.voices.filter(({ status }) => status === VoiceStatus.READY));
          pageToken = page.nextPageToken;
          if (pageToken === '') return { voices: all.map(({ voiceId, name }) => ({ id: voiceId, name })) };
        }
      },
    });

    scope.route({
      method: 'GET',
      url: '/v1/models',
      ...documented(openAiDocs.listModels),
      onRequest: admitTo(VoiceService.method.listVoices),
      handler: async () => ({
        object: 'list',
        data: modelIds.map((id) => ({ id, object: 'model', created: modelsSince, owned_by: 'sonant' })),
      }),
    });
  });
}

async function send(
  speech: Client<typeof SpeechService>,
  request: FastifyRequest,
  reply: FastifyReply,
  { asked, isEvents }: OpenAiRequest,
): Promise<FastifyReply> {
  const messages = speech.streamSpeech(toStream(asked), callOptionsOf(request, reply, 'rest'));
  const { info, pieces } = await beginSound(messages);
  const about = { ...soundHeaders(info, 'streaming'), ...ignoredHeader(asked.ignored) };
  const { 'Content-Disposition': _, ...headers } = about;
  if (isEvents) {
    await sendPieces(reply, { ...headers, ...eventHeaders }, eventsOf(pieces, asked.request.chars));
  } else await sendPieces(reply, headers, pieces);
  return reply;
}

/** Characters are what is counted here: they stand where OpenAI counts tokens. */
async function* eventsOf(pieces: AsyncIterable<Uint8Array>, chars: number): AsyncGenerator<string> {
  let hasBegun = false;
  try {
    for await (const sound of pieces) {
      const audio = Buffer.from(sound.buffer, sound.byteOffset, sound.byteLength).toString('base64');
      yield toEvent({ type: 'speech.audio.delta', audio });
      hasBegun = true;
    }
    const usage = { input_tokens: chars, output_tokens: 0, total_tokens: chars };
    yield toEvent({ type: 'speech.audio.done', usage });
  } catch (error) {
    if (!hasBegun) throw error;
    yield `event: error\n${toEvent({ error: toOpenAiError(fromThrown(error)) })}`;
  }
}

const toEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
