import { createDatabase } from '../postgres/run-databases.js';
import { serverForRuns } from '../simulation/postgres/server-for-runs.js';
import { choice, readOptions } from '../support/options.js';
import { crashThroughUpgrade, filledBy } from './postgres-crashes.js';
import { writtenVersions } from './written.js';

const starts = [{ version: 'empty', migrations: { postgres: 0 } }, ...writtenVersions];
const { from } = readOptions({
  name: 'npm run torture:migrations',
  about: `Ends the session of the real upgrade on PostgreSQL at every statement of every migration, from an empty database and
from what each tagged version wrote. SQLite does the same within \`npm test\`.`,
  options: {
    from: choice(
      'from this version alone',
      starts.map(({ version }) => version),
      null,
    ),
  },
});
const server = await serverForRuns();
let failed = 0;
try {
  for (const [at, { version, migrations }] of starts.entries()) {
    if (from !== null && from !== version) continue;
    const begun = process.hrtime.bigint();
    const url = await createDatabase(server.url, `crashes_${at}_${process.pid}`);
    if (migrations.postgres > 0) await filledBy(url, version, migrations.postgres);
    const { points, wrong } = await crashThroughUpgrade(url, migrations.postgres, () => true);
    failed += wrong.length;
    for (const one of wrong) console.log(one);
    const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
    console.log(`${version}: ${points} sessions ended, ${wrong.length} wrong, ${seconds.toFixed(0)} s`);
  }
} finally {
  await server.close();
}
process.exitCode = failed === 0 ? 0 : 1;
