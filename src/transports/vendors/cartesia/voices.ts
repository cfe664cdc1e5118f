// The voices of Cartesia's API: GET /voices with filters and pages, GET, PATCH and DELETE /voices/{id}. A clone needs a
// recording of consent, which POST /voices/clone does not contain, and no voice is made to speak another language.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { VoiceService } from '../../../../gen/sonant/v1/voice_pb.ts';
import { type Operation, voiceOperations } from '../../../api.ts';
import type { Fields } from '../../../contract.ts';
import { Failure, type FieldViolation } from '../../../platform/errors.ts';
import { type OfferedVoice, ownerOf } from '../../../speech.ts';
import { run } from '../../http/admission.ts';
import { ignoredHeaders, sortFields } from '../../http/ignored-fields.ts';
import { addWithoutBody, fieldsOf } from '../../http/json-body.ts';
import { callWith } from '../contract-calls.ts';
import { choose, type NamedVoice, pageOfVoices, type Viewer, viewerOf } from '../named-voices.ts';
import type { VendorRoutesOptions } from '../speech-contexts.ts';

const { listVoices, getVoice, updateVoice, deleteVoice } = voiceOperations;

export function addCartesiaVoiceRoutes(app: FastifyInstance, options: VendorRoutesOptions): void {
  const { voices, handlers, admission } = options;
  const to = (operation: Operation) => ({ onRequest: admission.admitAnyTo(operation) });
  const idOf = ({ params }: FastifyRequest) => (params as { id: string }).id;

  app.get('/voices', to(listVoices), async (request, reply) => {
    const { fields, ignored } = sortFields(request.query as Fields, voicesQuery, false);
    const ready = await run(request, reply, listVoices, (call) => voices.listReadyVoices(call));
    reply.headers(ignoredHeaders(request, ignored));
    return toVoicePage(ready, fields, await viewerOf(request, options));
  });

  app.get('/voices/:id', to(getVoice), async (request, reply) => {
    const id = idOf(request);
    const found = await run(request, reply, getVoice, (call) => voices.getVoice(call, id));
    return toCartesiaVoice({ ...found, id }, await viewerOf(request, options));
  });

  app.patch('/voices/:id', to(updateVoice), async (request, reply) => {
    const id = idOf(request);
    const { fields, ignored } = sortFields(fieldsOf(request), ['name', 'description', 'gender'], false);
    const { gender: _, ...texts } = fields;
    const details: FieldViolation[] = [];
    const gender = choose(fields, 'gender', genders, details);
    if (details.length > 0) throw new Failure('invalid_request', { details });
    const changed = await run(request, reply, updateVoice, async (call) => {
      const { voice } = await voices.getVoice(call, id);
      const labels = gender && { labels: { ...voice.labels, gender } };
      await callWith(VoiceService.method.updateVoice, handlers.voices, call, { voice_id: id, ...texts, ...labels });
      return voices.getVoice(call, id);
    });
    reply.headers(ignoredHeaders(request, ignored));
    return toCartesiaVoice({ ...changed, id }, await viewerOf(request, options));
  });

  addWithoutBody(app, (scope) => {
    scope.delete('/voices/:id', to(deleteVoice), async (request, reply) => {
      const members = { voice_id: idOf(request) };
      await run(request, reply, deleteVoice, (call) =>
        callWith(VoiceService.method.deleteVoice, handlers.voices, call, members),
      );
      return reply.code(204).send();
    });
    const refuse = (path: string, message: string) =>
      scope.post(path, to(listVoices), () => {
        throw new Failure('not_supported', { message });
      });
    refuse('/voices/clone', 'A clone needs a recording of consent: create it with POST /api/voices.');
    refuse(
      '/voices/localize',
      'A voice speaks only its own languages: GET /voices?language=... lists the voices of another one.',
    );
  });
}

const names = { size: 'limit', text: 'q', languageCode: 'language', after: 'starting_after' };
const voicesQuery = [...Object.values(names), 'gender', 'is_owner', 'expand', 'expand[]', 'api_key'];
const pageSizeDefault = 100;
/** Sonant's names for genders, by Cartesia's names. */
const genders = { masculine: 'male', feminine: 'female', gender_neutral: 'neutral' };

const toCartesiaVoice = ({ id, voice, kept }: NamedVoice, { caller, previewUrl }: Viewer) => ({
  id,
  name: voice.name,
  description: voice.description,
  tagline: '',
  gender: Object.entries(genders).find(([, ours]) => ours === voice.labels.gender)?.[0] ?? null,
  language: voice.languageCodes[0]!.split('-', 1)[0]!,
  locales: voice.languageCodes
    .filter((code) => code.includes('-'))
    .map((locale, i) => ({ locale, is_native: i === 0 })),
  access: kept?.access === 'private' ? 'private' : 'public',
  visibility: kept?.access === 'private' ? 'owner' : 'all',
  is_owner: ownerOf(kept, caller) === 'self',
  created_at: (kept?.createdAt ?? new Date(0)).toISOString(),
  preview_file_url: previewUrl(id),
});

function toVoicePage(ready: readonly OfferedVoice[], query: Fields, viewer: Viewer) {
  const details: FieldViolation[] = [];
  const gender = choose(query, 'gender', genders, details);
  const isOwner = choose(query, 'is_owner', { true: true, false: false }, details);
  if (details.length > 0) throw new Failure('invalid_request', { details });
  const matching = ready.filter(
    ({ voice, kept }) =>
      (gender ?? voice.labels.gender) === voice.labels.gender &&
      (isOwner ?? ownerOf(kept, viewer.caller) === 'self') === (ownerOf(kept, viewer.caller) === 'self'),
  );
  const { page, hasMore, next } = pageOfVoices(matching, query, names, pageSizeDefault);
  return { data: page.map((voice) => toCartesiaVoice(voice, viewer)), has_more: hasMore, next_page: next };
}
