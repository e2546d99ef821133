import { expect, onTestFinished } from 'vitest';
import { freshDatabase } from './fresh-database.js';
import { withClient } from './run-databases.js';

/** A login whose password an administrator replaces, which also ends its sessions. */
export async function rotatingLogin() {
  const { url, drop } = await freshDatabase();
  const role = `rotating_${url.slice(-10)}`;
  await withClient(url, async (client) => {
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'first'`);
    await client.query(`ALTER DATABASE "${new URL(url).pathname.slice(1)}" OWNER TO ${role}`);
  });
  onTestFinished(async () => {
    await drop();
    const { url: other } = await freshDatabase();
    await withClient(other, (client) => client.query(`DROP ROLE ${role}`));
  });
  const address = new URL(url);
  address.username = role;
  address.password = '';
  const replace = (password: string) =>
    withClient(url, async (client) => {
      await client.query(`ALTER ROLE ${role} PASSWORD '${password}'`);
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
      const sessions = async () =>
        (await client.query('SELECT 1 FROM pg_stat_activity WHERE usename = $1', [role])).rows;
      await expect.poll(sessions).toEqual([]);
    });
  return { url: address.href, replace };
}
