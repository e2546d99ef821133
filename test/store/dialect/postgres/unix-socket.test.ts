import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isPostgresUrl, withoutPassword } from '../../../../src/config/database.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import { secretUrlOf } from '../../../../src/store/database-location.js';
import { backUpPostgres } from '../../../../src/store/dialect/postgres/backup.js';
import { migratePostgres } from '../../../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import { enterableFolder } from '../../../postgres/binaries.js';
import { startPostgres } from '../../../postgres/server.js';
import { tempFolder } from '../../temp-folder.js';

test('a server is reached through its Unix socket, in both forms of the address', async () => {
  const folder = enterableFolder('rosterd-socket-');
  chmodSync(folder, 0o777);
  const server = await startPostgres({
    settings: [`unix_socket_directories=${folder}`, 'listen_addresses='],
  });
  onTestFinished(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { password, port } = new URL(server.url);
  const addresses = [
    `postgres://postgres@${encodeURIComponent(folder)}:${port}/postgres`,
    `postgres:///postgres?host=${folder}&port=${port}&user=postgres`,
  ];
  const parts = {
    clock: systemClock,
    env: { PATH: '/nowhere' },
    version: '0.0.0-test',
    signal: new AbortController().signal,
  };
  const limits = { timeoutMs: 20_000, rowsMax: null };
  for (const address of addresses) {
    expect(isPostgresUrl(address)).toBe(true);
    const { url } = withoutPassword(address);
    const place = { kind: 'postgres', url, password: { reveal: async () => password } } as const;
    const database = await openPostgres(place);
    await migratePostgres(database, { clock: systemClock, version: '0.0.0-test' });
    await database.close();
    const backup = await backUpPostgres(place, join(tempFolder(), 'mirror.backup'), parts);
    expect(backup).toMatchObject({ format: 'copy' });
    const query = await queryPostgres(
      await secretUrlOf(place),
      'SELECT count(*) FROM investments',
      limits,
      systemClock,
      parts.signal,
    );
    for await (const row of query.rows) expect(row).toEqual([0]);
  }
});
