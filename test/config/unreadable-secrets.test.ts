import { expect, test } from 'vitest';
import { unreadableSecrets } from '../../src/config/unreadable-secrets.js';
import { load, minimal } from './load-config.js';

test('every unreadable secret is reported by its option, including the database password', async () => {
  const { config } = load({
    ...minimal,
    database: 'postgres://rosterd@db.example.com/mirror',
    databasePassword: { env: 'NO_SUCH_PASSWORD' },
    console: { auth: { token: { file: 'no-such-file' } } },
  });
  const complaints = await unreadableSecrets(config);
  expect(complaints.map((complaint) => complaint.split(':')[0])).toEqual([
    'databasePassword',
    'sources[0].token',
    'console.auth.token',
  ]);
});
