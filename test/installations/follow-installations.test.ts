import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { followInstallations } from '../../src/installations/follow-installations.js';
import { worldWith } from './following-fixture.js';

test('following is ready only once the stored sources are synced, however often that fails before', async () => {
  const { world } = await worldWith('Acme');
  world.synced = [];
  let attempts = 0;
  const parts = world.parts(() => {
    attempts += 1;
    if (attempts <= 3) throw new Fault('database_busy', 'the database is away');
  });
  const following = followInstallations(parts);
  await following.ready;
  expect([attempts, world.names()]).toEqual([4, ['acme']]);
  await following.close();
});
