// Handlers for models: callers list models with their licences, and install, watch, cancel and remove them while the
// service runs. A model is named by its row in the operator's table, never by a URL. If the licence of a model forbids
// commercial use, the caller must accept this restriction.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type GetVoiceModelRequest,
  InstallStateSchema,
  type InstallVoiceModelRequest,
  type ListVoiceModelsRequest,
  type ModelService,
  type RemoveVoiceModelRequest,
  type WatchVoiceModelRequest,
} from '../../gen/sonant/v1/model_pb.ts';
import type { Engine } from '../engines.ts';
import { type InstallableModel, type ModelInstalls, type ModelRow, modelOfVoice } from '../library.ts';
import { Failure, invalidField } from '../platform/errors.ts';
import type { OfferedVoice, Voices } from '../speech.ts';
import type { Call } from './call.ts';
import { modelWatchMs } from './call-limits.ts';
import { toEnum } from './messages.ts';
import type { Handlers } from './service-handlers.ts';

/** How long a removal waits for the engine to withdraw the model's voices. */
const noticedMsMax = 5_000;
const noticedPollMs = 50;

interface ModelHandlersOptions {
  installs: ModelInstalls;
  engines: readonly Engine[];
  voices: Voices;
}

export function createModelHandlers({ installs, engines, voices }: ModelHandlersOptions) {
  const voicesOf = ({ caller }: Call): readonly OfferedVoice[] => voices.usableBy(caller).list();
  /** Ids of the model's voices that the caller may use. */
  const voiceIdsOf = ({ row, engine }: InstallableModel, installed: readonly string[], call: Call): string[] => {
    const own = new Set(voicesOf(call).map(({ voice }) => voice.voiceId));
    const offered = engines.find(({ name }) => name === engine)?.voices ?? [];
    return offered
      .map(({ voiceId }) => voiceId)
      .filter((voiceId) => own.has(voiceId) && modelOfVoice(voiceId, installed) === row.name);
  };
  const describe = async (model: InstallableModel, call: Call) =>
    toModel(model, model.isInstalled ? voiceIdsOf(model, namesOf(await installs.list()), call) : []);

  return {
    async listVoiceModels(_message: ListVoiceModelsRequest, call: Call) {
      const all = await installs.list();
      const installed = namesOf(all);
      const suggested = all.find(({ row, isInstalled }) => row.recommended && !isInstalled);
      const hasNatural = voicesOf(call).some((voice) => voice.status === 'ready' && voice.isNatural);
      return {
        models: all.map((model) => toModel(model, voiceIdsOf(model, installed, call))),
        suggested: hasNatural || installs.isOffline ? '' : (suggested?.row.name ?? ''),
        canInstall: !installs.isOffline,
      };
    },
    getVoiceModel: async ({ name }: GetVoiceModelRequest, call: Call) => ({
      model: await describe(await installs.find(name), call),
    }),
    async *watchVoiceModel({ name }: WatchVoiceModelRequest, call: Call) {
      const { leaving, signal } = call;
      for (;;) {
        const model = await installs.find(name);
        yield { model: await describe(model, call) };
        if (leaving.aborted || !model.isUnderWay) return;
        await sleep(modelWatchMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    },
    async installVoiceModel({ name, acceptLicence }: InstallVoiceModelRequest, call: Call) {
      checkIsUnlimited(call);
      const { row, isInstalled } = await installs.find(name);
      if (row.commercial === false && !isInstalled && !acceptLicence) {
        const message = `must be true: the licence of ${name} (${row.licence ?? 'not known'}) does not allow commercial use`;
        throw invalidField('accept_licence', 'required', message);
      }
      return { model: await describe(await installs.install(name, call.caller.actorName), call) };
    },
    async removeVoiceModel({ name }: RemoveVoiceModelRequest, call: Call) {
      checkIsUnlimited(call);
      const { engine, voiceIds } = await describe(await installs.find(name), call);
      await installs.remove(name, call.caller.actorName, call.signal);
      const isOffered = () =>
        engines.some((each) => each.name === engine && each.voices.some(({ voiceId }) => voiceIds.includes(voiceId)));
      for (let ms = 0; ms < noticedMsMax && isOffered(); ms += noticedPollMs)
        await sleep(noticedPollMs, undefined, { signal: call.signal });
      return {};
    },
  } satisfies Handlers<typeof ModelService>;
}

/** A key that is limited to some voices may neither add nor remove voices. */
function checkIsUnlimited({ caller }: Call): void {
  if (caller.voiceIds)
    throw new Failure('access_denied', { message: 'A key that is limited to certain voices cannot install models.' });
}

const namesOf = (models: readonly InstallableModel[]): string[] =>
  models.flatMap(({ row, isInstalled }) => (isInstalled ? row.name : []));

export const toModel = (
  { row, engine, library, isInstalled, fetchedBytes, install, bytes, manualCommands }: InstallableModel,
  voiceIds: string[],
) => ({
  name: row.name,
  title: row.title,
  kind: row.kind ?? '',
  engine,
  languages: [...(row.languages ?? [])],
  voices: row.voices ?? undefined,
  bytes: toInt64(bytes || undefined),
  licence: row.licence ?? '',
  licenceSource: row.licenceSource ?? '',
  commercial: row.commercial ?? undefined,
  parts: row.parts.map(({ as, licence }) => ({ file: as, licence: licence ?? '' })),
  library: { name: library.name, licence: library.licence, installed: library.isInstalled },
  cost: row.cost ?? '',
  notes: row.notes ?? '',
  checkedBy: row.builds.length > 0 ? 'archive' : Object.keys(row.files).length > 0 ? 'weights' : '',
  recommended: row.recommended,
  bestVoiceId: bestVoiceIdOf(row),
  installed: isInstalled,
  voiceIds,
  fetchedBytes: BigInt(fetchedBytes),
  install: install && {
    state: toEnum(InstallStateSchema, install.state),
    bytesDone: BigInt(install.bytesDone),
    bytesTotal: toInt64(install.bytesTotal),
    bytesPerSecond: toInt64(install.bytesPerSecond),
    secondsLeft: toInt64(install.secondsLeft),
    unpacked: Math.round(1000 * install.unpacked) / 1000,
    failure: install.failure && { error: install.failure.reason, message: install.failure.message },
  },
  manualCommands: [...manualCommands],
});

/** The id of the model's best voice, whether the model is installed or not. */
const bestVoiceIdOf = ({ name, bestVoice, voices }: ModelRow): string => {
  if (bestVoice !== null) return `${name}-${bestVoice}`;
  return voices === 1 ? name : '';
};

const toInt64 = (value: number | undefined) => (value === undefined ? undefined : BigInt(value));
