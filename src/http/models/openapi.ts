// The OpenAPI documentation of /api/models.
import { modelOperations } from '../../api/operation.ts';
import { failureTable } from '../../errors.ts';
import { installStates } from '../../models/install-progress.ts';
import { installsWaitingMax } from '../../models/model-installs.ts';
import { eventAnswer } from '../event-docs.ts';
import {
  type Answer,
  describeObject,
  documentOperation,
  jsonAnswer,
  nullableText,
  objectSchema,
  pathId,
  type RouteDocs,
  type Schema,
  text,
  whole,
} from '../route-docs.ts';

const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] });
const flag = (description: string): Schema => ({ type: 'boolean', description });
const texts = (description: string): Schema => ({ type: 'array', items: { type: 'string' }, description });

const states = {
  queued: 'another model comes first',
  waiting: 'another process has it',
  preparing: 'the library is installed',
  downloading: 'its files are fetched',
  unpacking: 'the archive is unpacked',
  checking: 'it speaks a sentence',
  elsewhere: 'another replica or the command line has it under way',
  done: 'its voices are offered',
  cancelled: 'it was ended; what was fetched is kept',
  failed: '`failure` says why',
} satisfies Record<(typeof installStates)[number], string>;
const stateTexts = Object.entries(states).map(([name, meaning]) => `\`${name}\`: ${meaning}`);

const failure = objectSchema(
  'InstallFailure',
  {
    error: text('The failure reason, as in error responses.', { enum: Object.keys(failureTable) }),
    message: text('A description of the failure.'),
  },
  'Why it has failed; null where it has not.',
);
const install = describeObject(
  'ModelInstall',
  {
    state: [text(`What it is at. ${stateTexts.join('; ')}.`, { enum: [...installStates] }), 'downloading'],
    bytes_done: [whole('Bytes of its files that are fetched.'), 104_857_600],
    bytes_total: [orNull(whole('Bytes of all its files; null while that is not known.')), 349_418_188],
    bytes_per_second: [orNull(whole('The rate of the last seconds.')), 12_400_000],
    seconds_left: [orNull(whole('Seconds until all is fetched, at this rate.')), 20],
    unpacked: [
      { type: 'number', minimum: 0, maximum: 1, description: 'The share of the archive that is unpacked.' },
      0,
    ],
    failure: [{ ...failure, type: ['object', 'null'] }, null],
  },
  'The latest installation that this process knows of; null if there is none.',
);
const library = describeObject(
  'ModelLibrary',
  {
    name: [text('The package that runs the model, with its version.'), 'acme-speech@1.2.3'],
    licence: [text('Its licence. POST installs the library under it, where it is missing.'), 'GPL-3.0'],
    installed: [flag('Whether it is there. Otherwise it is installed with the first model.'), true],
  },
  'What runs the model, and is not a part of Sonant.',
);
const part = describeObject('ModelPart', {
  file: [text('Its name in the folder of the model.'), 'vocoder.onnx'],
  licence: [nullableText('Its licence; null where it is not known.'), 'MIT'],
});

const model = describeObject('VoiceModel', {
  name: [text('Identifies the model, and begins the ids of its voices.'), 'kokoro'],
  title: [text('Name for people.'), 'Kokoro 82M v1.0'],
  kind: [nullableText('The kind of model.'), 'kokoro'],
  engine: [text('The engine that speaks with it.'), 'acme'],
  languages: [orNull(texts('What it speaks, as BCP-47.')), ['en', 'es']],
  voices: [orNull(whole('Number of its voices; 0 for a model that only clones.')), 53],
  bytes: [orNull(whole('What is fetched; null where it is not known.')), 349_418_188],
  licence: [nullableText('Its licence; null where it is not known, as for all members.'), 'Apache-2.0'],
  licence_source: [nullableText('Where the licence is stated.'), 'https://example.com/kokoro'],
  commercial: [orNull(flag('Whether the licence allows commercial use. If not, it must be accepted.')), true],
  parts: [{ type: 'array', items: part.schema, description: 'Files of others that are fetched along.' }, []],
  library: [library.schema, library.example],
  cost: [nullableText('What it takes of a CPU, as others report.'), 'half of real time on one EPYC'],
  notes: [nullableText('What else is known.'), null],
  checked_by: [
    {
      type: ['string', 'null'],
      enum: ['archive', 'weights', null],
      description: 'Of what the table states the SHA-256; null if of nothing.',
    },
    'archive',
  ],
  recommended: [flag('Whether it is one to begin with.'), true],
  best_voice_id: [nullableText('The id of its voice to begin with; null where none is known.'), 'kokoro-af_heart'],
  installed: [flag('Whether it is here.'), false],
  voice_ids: [texts('Its voices that this key may use.'), []],
  fetched_bytes: [whole('What an unfinished installation has fetched; the next one goes on from there.'), 104_857_600],
  install: [{ ...install.schema, type: ['object', 'null'] }, install.example],
});

const list = objectSchema('VoiceModels', {
  models: {
    type: 'array',
    items: model.schema,
    description: 'The models of the operator’s table, then those that are installed and in no table.',
  },
  suggested: nullableText('The model to begin with, where all voices of this key sound synthetic.'),
  can_install: flag('Whether this service fetches models.'),
});

const tag = 'Models';
const id = pathId('Name of the model.', 'kokoro');
const present = {
  ...model.example,
  installed: true,
  voice_ids: ['kokoro-af_heart'],
  fetched_bytes: 0,
  install: null,
};
const installed: Answer = jsonAnswer('The model, which is here already.', model.schema, present);

export const modelDocs = {
  list: {
    tag,
    ...documentOperation(modelOperations.listVoiceModels),
    summary: 'List models',
    answers: {
      200: jsonAnswer('All models.', list, { models: [model.example], suggested: 'kokoro', can_install: true }, [
        'Cache-Control',
      ]),
    },
    failures: [],
  },
  get: {
    tag,
    ...documentOperation(modelOperations.getVoiceModel),
    summary: 'Get a model, and how far its installation is',
    parameters: [id],
    answers: { 200: jsonAnswer('The model.', model.schema, model.example, ['Cache-Control']) },
    failures: ['not_found'],
  },
  watch: {
    tag,
    ...documentOperation(modelOperations.watchVoiceModel),
    summary: 'Watch the installation of a model',
    description:
      'Events `model`, each with the model as it is then, twice a second; after the last, nothing of it is under way. Events have no ids: a new connection begins with the present state.',
    parameters: [id],
    answers: {
      200: eventAnswer(
        'Events; the data of each is a VoiceModel.',
        model.schema,
        [model.example, present].map((data) => ({ event: 'model', data })),
      ),
    },
    failures: ['not_found'],
  },
  install: {
    tag,
    ...documentOperation(modelOperations.installVoiceModel),
    summary: 'Install a model',
    description: `Answers at once; the installation goes on when you leave. One model is installed at a time, and ${installsWaitingMax} may wait. To ask again is harmless. After a restart of the service, it goes on when it is asked for again.`,
    parameters: [id],
    body: {
      schema: {
        title: 'ModelWish',
        type: 'object',
        properties: {
          accept_licence: {
            type: 'boolean',
            default: false,
            description: 'Whether you accept a licence that does not allow commercial use.',
          },
        },
      },
      examples: { accepted: { accept_licence: true } },
      isOptional: true,
    },
    answers: {
      200: installed,
      202: jsonAnswer('It is under way.', model.schema, model.example, ['Location']),
    },
    failures: ['not_found', 'access_denied'],
  },
  remove: {
    tag,
    ...documentOperation(modelOperations.removeVoiceModel),
    summary: 'Cancel the installation of a model, or remove it',
    description:
      'Ends an installation that is under way, and keeps what was fetched. Otherwise removes the model, or what was fetched of it; requests under way end as they began.',
    parameters: [id],
    answers: { 204: { description: 'Done.' } },
    failures: ['not_found', 'access_denied', 'storage_full'],
  },
} as const satisfies Readonly<Record<string, RouteDocs>>;
