// POST /api/audio/estimate: what a request would cost. It takes the body of POST /api/audio/speech.
import type { Client } from '@connectrpc/connect';
import type { FastifyInstance } from 'fastify';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import type { AdmitTo } from '../http/admission.ts';
import { callOptionsOf } from '../http/call-options.ts';
import { fieldsOf } from '../http/json-body.ts';
import { documented } from '../http/route-docs.ts';
import { inTermsOfText, parseSpeechFields, toEstimate } from './fields.ts';
import { ignoredHeader, secondsOf } from './headers.ts';
import { estimateDocs } from './openapi.ts';

export interface EstimateRouteOptions {
  client: Client<typeof SpeechService>;
  admitTo: AdmitTo;
  isStrict: boolean;
}

export function addEstimateRoute(app: FastifyInstance, { client, admitTo, isStrict }: EstimateRouteOptions): void {
  app.route({
    method: 'POST',
    url: '/api/audio/estimate',
    ...documented(estimateDocs),
    onRequest: admitTo(SpeechService.method.estimateSpeech),
    async handler(request, reply) {
      const { request: speech, ignored } = parseSpeechFields(fieldsOf(request), { isStrict, isEvents: false });
      const call = client.estimateSpeech(toEstimate(speech), callOptionsOf(request, reply, 'rest'));
      const estimate = await call.catch((error) => {
        throw speech.method === 'rest' ? inTermsOfText(error) : error;
      });
      const { chars, duration, byteCount, segmentCount, warnings } = estimate;
      const body = { chars, duration: secondsOf(duration), bytes: Number(byteCount), segments: segmentCount, warnings };
      return reply.headers(ignoredHeader(ignored)).send(body);
    },
  });
}
