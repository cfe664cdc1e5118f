// Models that can be installed while the service runs: listed with their licences, installed, watched, cancelled and removed
// by callers. A model is named by its row in the operator's table, never by an address; one whose licence forbids commercial
// use is installed only for a caller who accepts that.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../engines/engine.ts';
import { Failure } from '../errors.ts';
import { isUnderWay } from '../models/install-progress.ts';
import type { InstallableModel } from '../models/installable-models.ts';
import type { ModelInstalls } from '../models/model-installs.ts';
import { modelOfVoice } from '../models/model-table.ts';
import { isNatural, type OfferedVoice, type Voices, voicesFor } from '../speech/voice.ts';
import type { Call } from './call.ts';
import { modelWatchMs } from './limits.ts';

/** A model, with those of its voices that the caller may use. */
export interface ListedModel extends InstallableModel {
  voiceIds: readonly string[];
}

export interface ListedModels {
  models: readonly ListedModel[];
  /** The name of the model to begin with, where all voices that the caller may use sound synthetic. */
  suggested: string | undefined;
  /** Whether models can be fetched. */
  canInstall: boolean;
}

/** How long a removal waits until its engine has noticed and offers the voices no more. */
const noticedMsMax = 5_000;
const noticedPollMs = 50;

export type ModelOperations = ReturnType<typeof createModelOperations>;

export interface ModelOperationsOptions {
  installs: ModelInstalls;
  engines: readonly Engine[];
  voices: Voices;
}

export function createModelOperations({ installs, engines, voices }: ModelOperationsOptions) {
  const voicesOf = (call: Call): readonly OfferedVoice[] => voicesFor(voices, call.caller).list();
  const toListed = (model: InstallableModel, installed: readonly string[], call: Call): ListedModel => {
    const own = new Set(voicesOf(call).map(({ voice }) => voice.voiceId));
    const engine = engines.find(({ name }) => name === model.engine);
    const isOwn = ({ voiceId }: { voiceId: string }) =>
      own.has(voiceId) && modelOfVoice(voiceId, installed) === model.row.name;
    return { ...model, voiceIds: engine?.voices.filter(isOwn).map(({ voiceId }) => voiceId) ?? [] };
  };
  const describe = async (model: InstallableModel, call: Call): Promise<ListedModel> => {
    if (!model.isInstalled) return { ...model, voiceIds: [] };
    return toListed(model, namesOf(await installs.list()), call);
  };
  return {
    async listVoiceModels(call: Call): Promise<ListedModels> {
      const all = await installs.list();
      const installed = namesOf(all);
      const suggested = all.find(({ row, isInstalled }) => row.recommended && !isInstalled);
      const hasNatural = voicesOf(call).some((voice) => voice.status === 'ready' && isNatural(voice));
      return {
        models: all.map((model) => toListed(model, installed, call)),
        suggested: hasNatural || installs.isOffline ? undefined : suggested?.row.name,
        canInstall: !installs.isOffline,
      };
    },
    getVoiceModel: async (call: Call, name: string) => describe(await installs.find(name), call),
    /** As it is, and then again and again until nothing of it is under way. */
    async *watchVoiceModel(call: Call, name: string): AsyncGenerator<ListedModel> {
      for (;;) {
        const model = await describe(await installs.find(name), call);
        yield model;
        if (call.leaving.aborted || !model.install || !isUnderWay(model.install)) return;
        await sleep(modelWatchMs);
      }
    },
    async installVoiceModel(call: Call, name: string, isLicenceAccepted: boolean): Promise<ListedModel> {
      checkIsUnlimited(call);
      const { row, isInstalled } = await installs.find(name);
      if (row.commercial === false && !isInstalled && !isLicenceAccepted) {
        const message = `must be true: the licence of ${name} (${row.licence ?? 'not known'}) does not allow commercial use`;
        throw new Failure('invalid_request', { details: [{ field: 'accept_licence', reason: 'required', message }] });
      }
      return describe(await installs.install(name, call.caller.actorName), call);
    },
    async removeVoiceModel(call: Call, name: string): Promise<void> {
      checkIsUnlimited(call);
      const { engine, voiceIds } = await describe(await installs.find(name), call);
      await installs.remove(name, call.caller.actorName, call.signal);
      const isOffered = () =>
        engines.some((each) => each.name === engine && each.voices.some(({ voiceId }) => voiceIds.includes(voiceId)));
      for (let ms = 0; ms < noticedMsMax && isOffered(); ms += noticedPollMs)
        await sleep(noticedPollMs, undefined, { signal: call.signal });
    },
  };
}

/** A key with a list of voices creates and ends no others. */
function checkIsUnlimited({ caller }: Call): void {
  if (caller.voiceIds)
    throw new Failure('access_denied', { message: 'A key that is limited to some voices installs none.' });
}

const namesOf = (models: readonly InstallableModel[]): string[] =>
  models.flatMap(({ row, isInstalled }) => (isInstalled ? row.name : []));
