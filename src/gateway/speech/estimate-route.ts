// POST /api/audio/estimate: what a request would cost. It takes the body of POST /api/audio/speech.
import type { FastifyInstance } from 'fastify';
import { speechOperations } from '../../operations/operation.ts';
import type { SpeechOperations } from '../../operations/speech.ts';
import { type AdmitTo, run } from '../http/admission.ts';
import { fieldsOf } from '../http/json-body.ts';
import { documented } from '../http/route-docs.ts';
import { parseSpeechFields } from './fields.ts';
import { ignoredHeader, roundSeconds } from './headers.ts';
import { estimateDocs } from './openapi.ts';

export interface EstimateRouteOptions {
  speech: SpeechOperations;
  admitTo: AdmitTo;
  isStrict: boolean;
}

const { estimateSpeech } = speechOperations;

export function addEstimateRoute(app: FastifyInstance, { speech, admitTo, isStrict }: EstimateRouteOptions): void {
  app.post('/api/audio/estimate', documented(estimateDocs, admitTo(estimateSpeech)), async (request, reply) => {
    const parsed = parseSpeechFields(fieldsOf(request), { isStrict, isEvents: false });
    const estimate = await run(request, reply, estimateSpeech, (call) => speech.estimateSpeech(call, parsed.request));
    const { chars, seconds, byteCount, segmentCount, warnings } = estimate;
    const body = { chars, duration: roundSeconds(seconds), bytes: byteCount, segments: segmentCount, warnings };
    return reply.headers(ignoredHeader(parsed.ignored)).send(body);
  });
}
