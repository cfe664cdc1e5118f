// Renders a model that can be installed, and how far that is, as JSON.
import type { ListedModel, ListedModels } from '../../api/models.ts';
import type { InstallStatus } from '../../models/install-progress.ts';
import { bytesOfRow, type ModelRow } from '../../models/model-table.ts';

export const toModelJson = ({ row, engine, library, isInstalled, fetchedBytes, voiceIds, install }: ListedModel) => ({
  name: row.name,
  title: row.title,
  kind: row.kind,
  engine,
  languages: row.languages,
  voices: row.voices,
  bytes: bytesOfRow(row) || null,
  licence: row.licence,
  licence_source: row.licenceSource,
  commercial: row.commercial,
  parts: row.parts.map(({ as, licence }) => ({ file: as, licence })),
  library: { name: library.name, licence: library.licence, installed: library.isInstalled },
  cost: row.cost,
  notes: row.notes,
  checked_by: row.builds.length > 0 ? 'archive' : Object.keys(row.files).length > 0 ? 'weights' : null,
  recommended: row.recommended,
  best_voice_id: bestVoiceIdOf(row),
  installed: isInstalled,
  voice_ids: voiceIds,
  fetched_bytes: fetchedBytes,
  install: install ? toInstallJson(install) : null,
});

/** Whether it is here or not. */
const bestVoiceIdOf = ({ name, bestVoice, voices }: ModelRow): string | null => {
  if (bestVoice !== null) return `${name}-${bestVoice}`;
  return voices === 1 ? name : null;
};

const toInstallJson = (status: InstallStatus) => ({
  state: status.state,
  bytes_done: status.bytesDone,
  bytes_total: status.bytesTotal ?? null,
  bytes_per_second: status.bytesPerSecond ?? null,
  seconds_left: status.secondsLeft ?? null,
  unpacked: Math.round(1000 * status.unpacked) / 1000,
  failure: status.failure ? { error: status.failure.reason, message: status.failure.message } : null,
});

export const toModelsJson = ({ models, suggested, canInstall }: ListedModels) => ({
  models: models.map(toModelJson),
  suggested: suggested ?? null,
  can_install: canInstall,
});
