// The settings of the service: those of the rooms, in the order in which commands list them, and the app's own. Engines
// declare their own settings. Settings are imported as files, so that a command that reads them loads no room.
import { accountSettings } from '../accounts/settings.ts';
import { clipSettings } from '../clips/settings.ts';
import { librarySettings } from '../library/settings.ts';
import { choiceSetting, integerSetting } from '../platform/runtime/setting-types.ts';
import { storeSettings } from '../platform/store/settings.ts';
import { type LogLevel, logLevels } from '../platform/telemetry/log.ts';
import { speechSettings } from '../speech/settings.ts';
import { transportSettings } from '../transports/settings.ts';

const appSettings = {
  leaveSeconds: integerSetting({
    name: 'SONANT_LEAVE_SECONDS',
    help: 'Seconds after SIGTERM during which requests are still accepted while /readyz reports not ready, for load balancers',
    range: [0, 3600],
    fallback: 0,
  }),
  drainSeconds: integerSetting({
    name: 'SONANT_DRAIN_SECONDS',
    help: 'Seconds that running requests have to finish when the service stops',
    range: [0, 3600],
    fallback: 20,
  }),
  logLevel: choiceSetting<LogLevel>({
    name: 'SONANT_LOG_LEVEL',
    help: 'Lowest level to log, on standard error',
    choices: logLevels,
    fallback: 'info',
  }),
};

export const serviceSettings = {
  ...transportSettings,
  ...accountSettings,
  ...clipSettings,
  ...appSettings,
  ...storeSettings,
  ...librarySettings,
  ...speechSettings,
};
