// The settings of the service: those of the rooms, in the order in which commands list them, and the app's own. Engines
// declare their own settings.
import { accountSettings } from '../access/settings.ts';
import { clipSettings } from '../delivery/settings.ts';
import { transportSettings } from '../http/settings.ts';
import { choiceSetting, integerSetting } from '../runtime/setting-types.ts';
import { speechSettings } from '../speech/settings.ts';
import { storeSettings } from '../store/settings.ts';
import { type LogLevel, logLevels } from '../telemetry/log.ts';
import { librarySettings } from '../voices/settings.ts';

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
