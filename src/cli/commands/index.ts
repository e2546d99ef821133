import type { Command } from '../command.js';
import { backup } from './backup.js';
import { changes } from './changes.js';
import { completion } from './completion.js';
import { configSchema } from './config-schema.js';
import { configShow } from './config-show.js';
import { configValidate } from './config-validate.js';
import { connect } from './connect.js';
import { demo } from './demo.js';
import { doctor } from './doctor.js';
import { endpointsCreate } from './endpoints-create.js';
import { endpointsDelete } from './endpoints-delete.js';
import { endpointsDeliveries } from './endpoints-deliveries.js';
import { endpointsList } from './endpoints-list.js';
import { endpointsReenable } from './endpoints-reenable.js';
import { endpointsResend } from './endpoints-resend.js';
import { endpointsRotate } from './endpoints-rotate.js';
import { endpointsShow } from './endpoints-show.js';
import { endpointsTest } from './endpoints-test.js';
import { endpointsUpdate } from './endpoints-update.js';
import { exportCommand } from './export.js';
import { forget } from './forget.js';
import { history } from './history.js';
import { init } from './init.js';
import { lakeCheck } from './lake-check.js';
import { lakeSql } from './lake-sql.js';
import { lakeSync } from './lake-sync.js';
import { listen } from './listen.js';
import { mcp } from './mcp.js';
import { migrate } from './migrate.js';
import { pause } from './pause.js';
import { query } from './query.js';
import { restore } from './restore.js';
import { resume } from './resume.js';
import { run } from './run.js';
import { runs } from './runs.js';
import { sandbox } from './sandbox.js';
import { schema } from './schema.js';
import { serviceInstall } from './service-install.js';
import { sourcesFollow } from './sources-follow.js';
import { sourcesForget } from './sources-forget.js';
import { sourcesList } from './sources-list.js';
import { sourcesPause } from './sources-pause.js';
import { sourcesResume } from './sources-resume.js';
import { sourcesShow } from './sources-show.js';
import { status } from './status.js';
import { supportBundle } from './support-bundle.js';
import { sync } from './sync.js';
import { trigger } from './trigger.js';
import { vaultRemove } from './vault-remove.js';
import { vaultRotate } from './vault-rotate.js';
import { vaultStatus } from './vault-status.js';
import { verify } from './verify.js';
import { version } from './version.js';
import { wait } from './wait.js';

/** In the order of the help. To add a command, write its file and add it here and in `commands-for.ts`. */
export const commands: readonly Command[] = [
  demo,
  init,
  run,
  sync,
  pause,
  resume,
  sourcesList,
  sourcesShow,
  sourcesPause,
  sourcesResume,
  sourcesForget,
  sourcesFollow,
  status,
  runs,
  wait,
  doctor,
  supportBundle,
  verify,
  query,
  mcp,
  exportCommand,
  lakeSync,
  lakeCheck,
  lakeSql,
  changes,
  history,
  forget,
  schema,
  migrate,
  backup,
  restore,
  connect,
  vaultStatus,
  vaultRotate,
  vaultRemove,
  endpointsList,
  endpointsShow,
  endpointsCreate,
  endpointsUpdate,
  endpointsRotate,
  endpointsTest,
  endpointsDeliveries,
  endpointsResend,
  endpointsReenable,
  endpointsDelete,
  serviceInstall,
  sandbox,
  trigger,
  listen,
  configValidate,
  configShow,
  configSchema,
  completion,
  version,
];
